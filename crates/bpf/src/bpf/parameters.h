// SPDX-License-Identifier: MIT OR GPL-2.0
// What the loader writes and reads: parameters, counters, and the state of the queue. All fields are 64-bit numbers, so
// that there is no padding; src/program.rs and src/status.rs list them in the same order.
#pragma once

#include "fixed.h"

// A factor below 1: mantissa / 2^32 / 2^shift, with 32 significant bits.
struct scale {
	__u64 mantissa;
	__u64 shift;
};

enum spacing { SPACING_NONE, SPACING_COUNT, SPACING_WAIT };
enum draw { DRAW_RANDOM, DRAW_WITH_REPLACEMENT, DRAW_LINUX, DRAW_FRONT, DRAW_BACK };

// Sizes are in packets, or in bytes where their flag says so.
struct parameters {
	__u64 limit, limit_in_bytes;
	__u64 slots; // of the ring, a power of two of at least 4/3 limit
	__u64 in_bytes; // the thresholds and the average
	q32 min, max;
	q32 weight, keep; // w_q and 1 - w_q
	q32 probability; // max_p
	struct scale slope, gentle_slope; // of the probability, per packet or byte
	q32 per_mean_packet; // 1 / avpkt
	__u64 slot; // ns that the link takes for a mean packet; 0: not known
	__u64 gentle, spacing, spare, byte_drop, ecn, harddrop;
	__u64 draw, candidates, compare_above_max, count_matches;
	__u64 rate; // of the link in bit/s; 0: the device sets the pace
	__u64 credit; // ns of unused link time that a burst may make up for
	__u64 arriving_at; // the IFB device that has the discipline of arriving packets; 0: of leaving ones
};

enum reason {
	REASON_NONE,
	REASON_LIMIT,
	REASON_EARLY,
	REASON_FORCED,
	REASON_MATCH_ARRIVAL,
	REASON_MATCH_VICTIM,
	REASONS,
};

struct count {
	__u64 packets, bytes;
};

// arrived = departed + flushed + all dropped + queued, between any two operations.
struct counters {
	struct count arrived, departed, flushed, queued;
	struct count dropped[REASONS], marked[REASONS]; // by reason; the first is unused
	__u64 compactions, largest_span;
};

struct red {
	q32 average;
	__u64 idle_since; // 0: the link is busy
	__s64 count; // packets since the last signal; -1 below min
	q32 count_bytes; // the same in mean packets' worth of bytes
	__u64 old; // the first packet that found the average above min has passed
};

// Packets are at the positions from head to tail - 1, except for holes. The slot of a position is its remainder.
struct ring {
	__u32 head, tail, holes, places;
	__u64 arrival; // the number of the comparison, to recognise candidates that were drawn before
};

struct state {
	struct counters counters;
	struct red red;
	struct ring ring;
	__u64 free_at; // the time at which the link has sent everything
	__u64 in_use; // the address of the qdisc that has this state, or 0
};

_Static_assert(sizeof(struct parameters) == 28 * 8, "src/program.rs writes 28 numbers");
_Static_assert(sizeof(struct state) == 44 * 8, "src/status.rs reads 44 numbers");
_Static_assert(offsetof(struct state, counters.dropped) == 8 * 8, "src/status.rs");
_Static_assert(offsetof(struct state, counters.marked) == 20 * 8, "src/status.rs");
_Static_assert(offsetof(struct state, counters.compactions) == 32 * 8, "src/status.rs");
_Static_assert(offsetof(struct state, red.average) == 34 * 8, "src/status.rs");
_Static_assert(offsetof(struct state, in_use) == 43 * 8, "src/status.rs");

#ifdef __bpf__
const volatile struct parameters parameters SEC(".rodata");
struct state state SEC(".bss");
#else
extern struct parameters parameters;
extern struct state state;
#endif
