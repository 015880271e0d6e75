// SPDX-License-Identifier: MIT OR GPL-2.0
// CHOKe's comparison of an arrival with packets of the queue (Pan, Prabhakar, Psounis 2000, section II-A).
#pragma once

#include "ring.h"

// More throws than this for one candidate happen once in 2^32 draws, since less than about half of the ring is holes.
#define THROWS 32

struct comparison {
	const struct arrival *arrival;
	DROP_LIST drops;
	__u32 wanted; // candidates that are still to be drawn
	__u32 misses; // throws in a row that hit holes
	__u32 next; // the next position of the front or of the back
	__u32 matches;
};

// Returns a uniform number below `bound` (Lemire 2019). Numbers that would make it uneven are drawn again, at most four
// times.
static __always_inline __u32 random_below(__u32 bound)
{
	__u64 product = (__u64)random_for_draw() * bound;

	for (int again = 0; again < 4 && (__u32)product < bound; again++) {
		if ((__u32)product >= -bound % bound)
			break;
		product = (__u64)random_for_draw() * bound;
	}
	return product >> 32;
}

// Tells whether arrivals are compared: the average is above min.
static __always_inline bool choke_compares(void)
{
	q32 average = state.red.average;

	return average > parameters.min && (average < parameters.max || parameters.compare_above_max);
}

static __always_inline bool same_flow(const struct flow *one, const struct flow *other)
{
	for (int i = 0; i < FLOW_WORDS; i++)
		if (one->words[i] != other->words[i])
			return false;
	return true;
}

#ifdef __bpf__
static __always_inline void drop_victim(packet victim, struct comparison *comparison)
{
	if (victim)
		bpf_qdisc_skb_drop(victim, comparison->drops);
}
#else
void drop_victim(packet victim, struct comparison *comparison);
#endif

// Drops the packet in `slot` if it is of the arrival's flow.
static __always_inline void drop_if_match(struct slot *slot, struct comparison *comparison)
{
	if (!same_flow(&slot->flow, &comparison->arrival->flow))
		return;
	count_add(&state.counters.dropped[REASON_MATCH_VICTIM], slot->bytes);
	state.ring.holes++;
	comparison->matches++;
	drop_victim(ring_take(slot), comparison);
}

// Returns the position for one throw.
static __always_inline __u32 throw(struct comparison *comparison)
{
	if (parameters.draw == DRAW_FRONT)
		return comparison->next++;
	if (parameters.draw == DRAW_BACK)
		return comparison->next--;
	if (parameters.draw == DRAW_LINUX && comparison->misses == 3)
		return state.ring.head;
	return state.ring.head + random_below(ring_span());
}

// Throws once, and compares the arrival with the packet that was hit. A packet that is already a candidate of this
// arrival is not compared again; with replacement it counts as a candidate.
static long choke_throw(__u32 step, void *context)
{
	struct comparison *comparison = context;
	struct slot *slot = slot_at(throw(comparison));

	if (!slot)
		return 1;
	if (slot->drawn == state.ring.arrival) {
		comparison->misses = 0;
		if (parameters.draw == DRAW_WITH_REPLACEMENT)
			comparison->wanted--;
	} else if (!slot->bytes) {
		comparison->misses++;
	} else {
		comparison->misses = 0;
		comparison->wanted--;
		slot->drawn = state.ring.arrival;
		drop_if_match(slot, comparison);
	}
	return !comparison->wanted;
}

// Draws as many candidates as are wanted, and drops those that match. Their number is below 65.
static __always_inline void draw_candidates(struct comparison *comparison)
{
	comparison->misses = 0;
	comparison->next = parameters.draw == DRAW_BACK ? state.ring.tail - 1 : state.ring.head;
	state.ring.arrival++; // from 1: 0 stands for packets that were not drawn
	repeat(ring_span() + THROWS * comparison->wanted, choke_throw, comparison);
}

// Decides on an arrival after its comparison.
static __always_inline struct verdict choke_decide(const struct comparison *comparison)
{
	const struct arrival *arrival = comparison->arrival;

	if (!comparison->matches)
		return red_decide(arrival);
	if (parameters.count_matches)
		red_count((q32)arrival->bytes * parameters.per_mean_packet);
	return (struct verdict){ REASON_MATCH_ARRIVAL, REASON_NONE };
}

// CHOKe: compares an arrival with the configured number of candidates at once.
static __always_inline struct verdict choke_arrive(const struct arrival *arrival, DROP_LIST drops)
{
	struct comparison comparison = { .arrival = arrival, .drops = drops, .wanted = parameters.candidates };
	__u32 packets = state.counters.queued.packets;

	if (parameters.draw != DRAW_WITH_REPLACEMENT && comparison.wanted > packets)
		comparison.wanted = packets;
	if (packets && choke_compares()) {
		draw_candidates(&comparison);
		if (comparison.matches)
			ring_settle();
	}
	return choke_decide(&comparison);
}

// gCHOKe: compares with one candidate after another while they match. Each draws from what the one before has left.
static long gchoke_step(__u32 step, void *context)
{
	struct comparison *comparison = context;
	__u32 before = comparison->matches;

	if (!state.counters.queued.packets)
		return 1;
	comparison->wanted = 1;
	draw_candidates(comparison);
	if (comparison->matches == before)
		return 1;
	ring_settle();
	return 0;
}

static __always_inline struct verdict gchoke_arrive(const struct arrival *arrival, DROP_LIST drops)
{
	struct comparison comparison = { .arrival = arrival, .drops = drops };
	__u32 most = parameters.candidates;

	if (most > parameters.slots)
		most = parameters.slots;
	if (choke_compares())
		repeat(most, gchoke_step, &comparison);
	return choke_decide(&comparison);
}
