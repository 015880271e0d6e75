// SPDX-License-Identifier: MIT OR GPL-2.0
// A FIFO that also gives up packets from the middle, and draws packets.
//
// A packet that is removed from the middle leaves a hole. Holes at both ends are removed at once, and all of them when
// there are more than packets plus SLACK. So the span of the ring, holes included, is at most twice the number of
// packets plus SLACK, and no packet is lost, however fast packets are removed behind a head that waits for the link.
//
// Holes go, too, whenever the span reaches the places, which double unless a quarter of them are holes. So the span
// is at most the first power of two from four thirds of the limit on. The library's ring does the same: with the same
// random numbers both draw the same packets.
#pragma once

#include "red.h"

#define SLACK 8
#define FIRST_PLACES 16

// A hole has no bytes. Its packet may be gone while its flow still stands here.
struct slot {
	PACKET packet;
	struct flow flow;
	__u64 drawn; // the arrival that drew it last
	__u32 bytes;
};

#ifdef __bpf__
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); // the loader sets it
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

static __always_inline struct slot *slot_at(__u32 at)
{
	__u32 key = at & (parameters.slots - 1);

	return bpf_map_lookup_elem(&slots, &key);
}

static __always_inline packet take_packet(struct slot *slot)
{
	return bpf_kptr_xchg(&slot->packet, NULL);
}

static __always_inline void put_packet(struct slot *slot, packet skb)
{
	packet old = bpf_kptr_xchg(&slot->packet, skb);

	if (old) // never: the slot of a hole is empty
		bpf_kfree_skb(old);
}
#else
extern struct slot slots[];

static inline struct slot *slot_at(__u32 at)
{
	return &slots[at & (parameters.slots - 1)];
}

static inline packet take_packet(struct slot *slot)
{
	packet taken = slot->packet;

	slot->packet = 0;
	return taken;
}

static inline void put_packet(struct slot *slot, packet number)
{
	slot->packet = number;
}
#endif

static __always_inline __u32 ring_span(void)
{
	return state.ring.tail - state.ring.head;
}

static __always_inline bool is_hole(__u32 at)
{
	struct slot *slot = slot_at(at);

	return !slot || !slot->bytes;
}

static __always_inline void count_add(struct count *count, __u32 bytes)
{
	count->packets++;
	count->bytes += bytes;
}

static __always_inline void count_remove(struct count *count, __u32 bytes)
{
	count->packets--;
	count->bytes -= bytes;
}

// Makes a hole of a slot, and returns the packet that was there.
static __always_inline packet ring_take(struct slot *slot)
{
	count_remove(&state.counters.queued, slot->bytes);
	slot->bytes = 0;
	return take_packet(slot);
}

static long skip_hole_at_head(__u32 step, void *unused)
{
	if (state.ring.head == state.ring.tail || !is_hole(state.ring.head))
		return 1;
	state.ring.head++;
	state.ring.holes--;
	return 0;
}

static long skip_hole_at_tail(__u32 step, void *unused)
{
	if (state.ring.head == state.ring.tail || !is_hole(state.ring.tail - 1))
		return 1;
	state.ring.tail--;
	state.ring.holes--;
	return 0;
}

// Moves the packet that is `step` slots behind the head over the holes in front of it.
static long close_up(__u32 step, void *next)
{
	__u32 *to = next;
	__u32 at = state.ring.head + step;
	struct slot *source = slot_at(at), *target = slot_at(*to);
	packet moved;

	if (!source || !target || !source->bytes)
		return 0;
	if (at != *to) {
		target->flow = source->flow;
		target->bytes = source->bytes;
		target->drawn = 0;
		source->bytes = 0;
		moved = take_packet(source);
		if (moved)
			put_packet(target, moved);
	}
	++*to;
	return 0;
}

// Removes all holes.
static __always_inline void ring_compact(void)
{
	__u32 to = state.ring.head;

	repeat(ring_span(), close_up, &to);
	state.ring.tail = to;
	state.ring.holes = 0;
	state.counters.compactions++;
}

// Makes a place behind the tail when all are taken.
static __always_inline void ring_make_room(void)
{
	__u32 places = state.ring.places;

	if (!places)
		places = FIRST_PLACES;
	else if (4 * state.ring.holes < places && 2 * places <= parameters.slots)
		places *= 2;
	state.ring.places = places;
	if (state.ring.holes)
		ring_compact();
}

// Removes the holes at both ends, and all holes when there are too many.
static __always_inline void ring_settle(void)
{
	if (!state.ring.holes)
		return;
	repeat(ring_span(), skip_hole_at_head, NULL);
	repeat(ring_span(), skip_hole_at_tail, NULL);
	if (state.ring.holes > state.counters.queued.packets + SLACK)
		ring_compact();
}

// Returns the slot for a packet behind the tail. None is free only if the limit is in bytes and packets are tiny.
static __always_inline struct slot *ring_push(const struct arrival *arrival)
{
	struct slot *slot;

	if (ring_span() == state.ring.places)
		ring_make_room();
	slot = slot_at(state.ring.tail);
	if (!slot || ring_span() >= parameters.slots)
		return NULL;
	state.ring.tail++;
	slot->flow = arrival->flow;
	slot->bytes = arrival->bytes;
	slot->drawn = 0;
	count_add(&state.counters.queued, arrival->bytes);
	if (ring_span() > state.counters.largest_span)
		state.counters.largest_span = ring_span();
	return slot;
}

// Removes the oldest packet and returns its slot, a hole by then, whose packet the caller takes; `bytes` is its size.
static __always_inline struct slot *ring_pop(__u32 *bytes)
{
	struct slot *slot = slot_at(state.ring.head);

	if (!slot || state.ring.head == state.ring.tail)
		return NULL;
	*bytes = slot->bytes;
	count_remove(&state.counters.queued, slot->bytes);
	slot->bytes = 0;
	state.ring.head++;
	return slot;
}
