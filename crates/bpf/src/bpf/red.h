// SPDX-License-Identifier: MIT OR GPL-2.0
// RED's average, curve and spacing of signals (Floyd and Jacobson 1993), with ns-2's order of steps.
#pragma once

#include "parameters.h"

#define FLOW_WORDS 5

// What the packets of a flow have in common. Ports and protocols are in the first word, so that it alone tells most
// flows apart.
struct flow {
	__u64 words[FLOW_WORDS];
};

struct arrival {
	__u64 now;
	__u32 bytes;
	__u32 ecn_capable;
	struct flow flow;
};

static __always_inline q32 scaled(q32 number, __u64 mantissa, __u64 shift)
{
	return multiply(number, mantissa) >> shift;
}

// Updates the average with the occupancy that an arrival sees, after the decay of an idle time.
static __always_inline void red_sample(__u64 now)
{
	struct red *red = &state.red;
	struct count *queued = &state.counters.queued;
	q32 occupancy = (parameters.in_bytes ? queued->bytes : queued->packets) << 32;

	if (red->idle_since && parameters.slot && now > red->idle_since)
		red->average = multiply(red->average, power(parameters.keep, (now - red->idle_since) / parameters.slot));
	red->idle_since = 0;
	if (occupancy >= red->average)
		red->average += multiply(occupancy - red->average, parameters.weight);
	else
		red->average -= multiply(red->average - occupancy, parameters.weight);
}

// Notes that the link asked and found nothing: an idle time begins.
static __always_inline void red_idle(__u64 now)
{
	if (!state.red.idle_since)
		state.red.idle_since = now;
}

// Tells whether the average is so high that every packet is signalled.
static __always_inline bool red_is_above(void)
{
	return state.red.average >= (parameters.gentle ? 2 * parameters.max : parameters.max);
}

// Returns p_b, the base probability at the average, which is at least min and not above.
static __always_inline q32 red_probability(void)
{
	q32 average = state.red.average;

	if (average < parameters.max)
		return scaled(average - parameters.min, parameters.slope.mantissa, parameters.slope.shift);
	return parameters.probability +
	       scaled(average - parameters.max, parameters.gentle_slope.mantissa, parameters.gentle_slope.shift);
}

static __always_inline void red_restart(__s64 count, q32 count_bytes)
{
	state.red.count = count;
	state.red.count_bytes = count_bytes;
}

// Counts a packet of `size` mean packets among those since the last signal.
static __always_inline void red_count(q32 size)
{
	if (state.red.count < (1 << 30))
		state.red.count++;
	if (state.red.count_bytes < (q32)1 << 62)
		state.red.count_bytes += size;
}

// Rolls for a packet of `size` mean packets. The probability p_a = p_b / room is compared multiplied by the room, which
// saves the division.
static __always_inline bool red_roll(q32 size)
{
	__u32 roll = random_for_red();
	q32 base = red_probability();
	q32 since = parameters.byte_drop ? state.red.count_bytes : (q32)state.red.count << 32;
	q32 spaced = multiply(since, base);
	q32 room = ONE;

	if (parameters.spacing == SPACING_WAIT) {
		if (spaced < ONE)
			return false;
		room = 2 * ONE;
	}
	if (parameters.spacing != SPACING_NONE)
		room = room > spaced ? room - spaced : 0;
	if (base >= room)
		return true;
	return multiply(room, roll) < (parameters.byte_drop ? multiply(size, base) : base);
}

// Decides whether an arrival is signalled, and why.
static __always_inline enum reason red_test(const struct arrival *arrival)
{
	q32 size = (q32)arrival->bytes * parameters.per_mean_packet;

	// A packet that finds at most one packet queued passes, and so does the first that finds the average above min.
	if (state.red.average < parameters.min || (parameters.spare && state.counters.queued.packets <= 1)) {
		state.red.old = false;
		red_restart(-1, 0);
		return REASON_NONE;
	}
	if (red_is_above()) {
		red_restart(0, 0);
		return REASON_FORCED;
	}
	if (parameters.spare && !state.red.old) {
		state.red.old = true;
		red_restart(1, size);
		return REASON_NONE;
	}
	red_count(size);
	if (!red_roll(size))
		return REASON_NONE;
	red_restart(0, 0);
	return REASON_EARLY;
}

// What becomes of an arrival: a reason to drop it, or one to mark it, or none.
struct verdict {
	enum reason drop, mark;
};

// Tells whether an arrival would exceed the limit.
static __always_inline bool overflows(const struct arrival *arrival)
{
	struct count *queued = &state.counters.queued;

	if (parameters.limit_in_bytes)
		return queued->bytes + arrival->bytes > parameters.limit;
	return queued->packets + 1 > parameters.limit;
}

// Lets RED decide on an arrival, and then the limit.
static __always_inline struct verdict red_decide(const struct arrival *arrival)
{
	struct verdict verdict = { REASON_NONE, red_test(arrival) };
	bool hard = parameters.harddrop && verdict.mark == REASON_FORCED;

	if (verdict.mark && (!parameters.ecn || !arrival->ecn_capable || hard))
		verdict = (struct verdict){ verdict.mark, REASON_NONE };
	else if (overflows(arrival))
		verdict = (struct verdict){ REASON_LIMIT, REASON_NONE };
	return verdict;
}
