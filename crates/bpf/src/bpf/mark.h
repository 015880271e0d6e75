// SPDX-License-Identifier: MIT OR GPL-2.0
// Marks with ECN (RFC 3168).
//
// A queue discipline in BPF cannot write to packets. So it requests a mark for the flow, and a program that the device
// runs in front of the discipline writes it into the flow's next packet that can be marked.
#pragma once

#include "arriving.h"
#include "flow.h"

#define MOST_REQUESTS 4096
#define ECN_MASK 3

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MOST_REQUESTS);
	__type(key, struct flow);
	__type(value, __u32);
} requests SEC(".maps");

static __always_inline void request_mark(const struct arrival *arrival, enum reason reason)
{
	__u32 one = 1;

	if (reason < REASONS)
		count_add(&state.counters.marked[reason], arrival->bytes);
	bpf_map_update_elem(&requests, &arrival->flow, &one, 0);
}

// Writes CE into an IPv4 or IPv6 header.
static __always_inline void write_mark(struct __sk_buff *context, const struct reader *reader)
{
	bool ipv4 = reader->type == bpf_htons(ETHERTYPE_IPV4);
	__u64 at = reader->ip_at;
	__u8 old[2], new[2];

	if (bpf_skb_load_bytes(context, at, old, sizeof(old)))
		return;
	new[0] = old[0];
	new[1] = old[1] | (ipv4 ? ECN_MASK : ECN_MASK << 4);
	if (ipv4)
		bpf_l3_csum_replace(context, at + offsetof(struct ipv4, checksum), *(__u16 *)old, *(__u16 *)new, 2);
	bpf_skb_store_bytes(context, at, new, sizeof(new), 0);
}

static __always_inline int mark_if_requested(struct __sk_buff *context)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(context);
	struct reader reader = { .at = network_offset(skb) };
	struct arrival arrival = {};
	__be16 type = skb->protocol;

	bpf_dynptr_from_skb(context, 0, &reader.packet);
	read_flow(&reader, type, &arrival);
	if (arrival.ecn_capable && !bpf_map_delete_elem(&requests, &arrival.flow))
		write_mark(context, &reader);
	return NEXT_PROGRAM;
}
