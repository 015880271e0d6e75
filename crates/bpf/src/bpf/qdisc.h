// SPDX-License-Identifier: MIT OR GPL-2.0
// The operations of a queue discipline, for each of which the file that includes this one names its `decide`.
//
// The kernel calls enqueue, dequeue and reset with the root lock held, so the state needs no separate lock.
#pragma once

#include "arriving.h"
#include "mark.h"
#include "ring.h"

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_CN 2
#define EBUSY 16

#define BITS_PER_SECOND_AND_BYTE 8000000000ULL

static __always_inline void count_drop(struct Qdisc *sch, enum reason reason, __u32 bytes)
{
	if (reason < REASONS)
		count_add(&state.counters.dropped[reason], bytes);
	sch->qstats.drops++;
}

// Lets the statistics of the kernel follow those of the ring.
static __always_inline void show_queue(struct Qdisc *sch)
{
	sch->q.qlen = state.counters.queued.packets;
	sch->qstats.backlog = state.counters.queued.bytes;
}

static __always_inline int qdisc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free,
					 struct verdict (*decide)(const struct arrival *, struct bpf_sk_buff_ptr *))
{
	struct arrival arrival = { .now = bpf_ktime_get_ns(), .bytes = ((struct qdisc_skb_cb *)skb->cb)->pkt_len };
	__u64 victims = state.counters.dropped[REASON_MATCH_VICTIM].packets;
	struct reader reader = { .at = network_offset(skb) };
	struct slot *slot = NULL;
	struct verdict verdict;

	if (!arrival.bytes)
		arrival.bytes = 1; // 0 stands for holes
	bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &reader.packet);
	read_flow(&reader, skb->protocol, &arrival);
	count_add(&state.counters.arrived, arrival.bytes);
	red_sample(arrival.now);
	verdict = decide(&arrival, to_free);
	sch->qstats.drops += state.counters.dropped[REASON_MATCH_VICTIM].packets - victims;
	if (!verdict.drop) {
		slot = ring_push(&arrival);
		if (!slot)
			verdict.drop = REASON_LIMIT;
	}
	if (slot)
		put_packet(slot, skb);
	else
		bpf_qdisc_skb_drop(skb, to_free);
	if (verdict.drop)
		count_drop(sch, verdict.drop, arrival.bytes);
	else if (verdict.mark)
		request_mark(&arrival, verdict.mark);
	show_queue(sch);
	return verdict.drop ? NET_XMIT_CN : NET_XMIT_SUCCESS;
}

// Occupies the link for the time that it takes to send `bytes`. Time that it was not used makes up for late timers, up
// to the credit.
static __always_inline void occupy_link(__u64 now, __u32 bytes)
{
	__u64 from = state.free_at;

	if (!parameters.rate)
		return;
	if (from + parameters.credit < now)
		from = now - parameters.credit;
	state.free_at = from + bytes * BITS_PER_SECOND_AND_BYTE / parameters.rate;
}

static __always_inline struct sk_buff *qdisc_dequeue(struct Qdisc *sch)
{
	__u64 now = bpf_ktime_get_ns();
	struct sk_buff *skb = NULL;
	struct slot *slot;
	__u32 bytes = 0;

	if (!state.counters.queued.packets) {
		red_idle(now > state.free_at ? now : state.free_at);
		return NULL;
	}
	if (now < state.free_at) {
		bpf_qdisc_watchdog_schedule(sch, state.free_at, 0);
		return NULL;
	}
	slot = ring_pop(&bytes);
	if (slot)
		skb = take_packet(slot);
	if (!skb)
		return NULL;
	ring_settle();
	count_add(&state.counters.departed, bytes);
	occupy_link(now, bytes);
	show_queue(sch);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

static long free_slot(__u32 at, void *unused)
{
	struct slot *slot = slot_at(at);
	struct sk_buff *skb;

	if (!slot)
		return 1;
	slot->bytes = 0;
	skb = take_packet(slot);
	if (skb)
		bpf_kfree_skb(skb);
	return 0;
}

// Drops everything that is queued, as when the device goes down. The counters stay.
static __always_inline void qdisc_reset(struct Qdisc *sch)
{
	struct counters *counters = &state.counters;

	if (state.in_use != (__u64)sch)
		return;
	repeat(parameters.slots, free_slot, NULL);
	counters->flushed.packets += counters->queued.packets;
	counters->flushed.bytes += counters->queued.bytes;
	counters->queued = (struct count){};
	state.ring = (struct ring){};
	state.red = (struct red){ .count = -1 };
	state.free_at = 0;
	show_queue(sch);
}

// Refuses a second qdisc of the same id: it would have the state of the first.
static __always_inline int qdisc_init(struct Qdisc *sch)
{
	if (!__sync_bool_compare_and_swap(&state.in_use, 0, (__u64)sch))
		return -EBUSY;
	state.counters = (struct counters){};
	state.ring = (struct ring){};
	state.red = (struct red){ .count = -1 };
	state.free_at = 0;
	sch->limit = parameters.limit;
	return 0;
}

// The kernel destroys a qdisc that was refused, too.
static __always_inline void qdisc_destroy(struct Qdisc *sch)
{
	if (state.in_use == (__u64)sch)
		state.in_use = 0;
}

#define QDISC(name, decide)                                                                                             \
	SEC("struct_ops/enqueue")                                                                                       \
	int BPF_PROG(name##_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)           \
	{                                                                                                               \
		return qdisc_enqueue(skb, sch, to_free, decide);                                                        \
	}                                                                                                               \
	SEC("struct_ops/dequeue")                                                                                       \
	struct sk_buff *BPF_PROG(name##_dequeue, struct Qdisc *sch)                                                     \
	{                                                                                                               \
		return qdisc_dequeue(sch);                                                                              \
	}                                                                                                               \
	SEC("struct_ops/init")                                                                                          \
	int BPF_PROG(name##_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)            \
	{                                                                                                               \
		return qdisc_init(sch);                                                                                 \
	}                                                                                                               \
	SEC("struct_ops/reset")                                                                                         \
	void BPF_PROG(name##_reset, struct Qdisc *sch)                                                                  \
	{                                                                                                               \
		qdisc_reset(sch);                                                                                       \
	}                                                                                                               \
	SEC("struct_ops/destroy")                                                                                       \
	void BPF_PROG(name##_destroy, struct Qdisc *sch)                                                                \
	{                                                                                                               \
		qdisc_destroy(sch);                                                                                     \
	}                                                                                                               \
	SEC("tcx/egress")                                                                                               \
	int name##_mark(struct __sk_buff *context)                                                                      \
	{                                                                                                               \
		return mark_if_requested(context);                                                                      \
	}                                                                                                               \
	SEC("tcx/ingress")                                                                                              \
	int name##_arriving(struct __sk_buff *context)                                                                  \
	{                                                                                                               \
		return queue_if_in_place();                                                                             \
	}                                                                                                               \
	SEC(".struct_ops.link")                                                                                         \
	struct Qdisc_ops name = {                                                                                       \
		.id = "fl_" #name,                                                                                      \
		.enqueue = (void *)name##_enqueue,                                                                      \
		.dequeue = (void *)name##_dequeue,                                                                      \
		.init = (void *)name##_init,                                                                            \
		.reset = (void *)name##_reset,                                                                          \
		.destroy = (void *)name##_destroy,                                                                      \
	};                                                                                                              \
	char terms[] SEC("license") = "Dual MIT/GPL"
