// SPDX-License-Identifier: MIT OR GPL-2.0
// Replays operations with the decisions of src/bpf in user space. Reads the discipline, its parameters, the random
// numbers of both uses and the operations; writes what each led to.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/bpf/choke.h"

#define MOST_SLOTS (1 << 20)

struct parameters parameters;
struct state state;
struct slot slots[MOST_SLOTS];

struct numbers {
	__u32 *all;
	size_t count, next;
};

static struct numbers for_red, for_draws;

static _Noreturn void fail(const char *why)
{
	fprintf(stderr, "replay: %s\n", why);
	exit(1);
}

static __u64 read_number(void)
{
	__u64 number;

	if (scanf("%llu", &number) != 1)
		fail("a number is missing");
	return number;
}

static void read_numbers(struct numbers *numbers)
{
	numbers->count = read_number();
	numbers->all = calloc(numbers->count, sizeof(*numbers->all));
	for (size_t i = 0; i < numbers->count; i++)
		numbers->all[i] = read_number();
}

static __u32 next_number(struct numbers *numbers)
{
	if (numbers->next == numbers->count)
		fail("there are too few random numbers");
	return numbers->all[numbers->next++];
}

__u32 random_for_red(void)
{
	return next_number(&for_red);
}

__u32 random_for_draw(void)
{
	return next_number(&for_draws);
}

void drop_victim(packet victim, struct comparison *comparison)
{
	(void)comparison;
	printf("dropped %llu %d ", victim - 1, REASON_MATCH_VICTIM);
}

static void enqueue(const char *kind)
{
	struct arrival arrival = { .now = read_number() };
	__u64 id = read_number();
	struct verdict verdict;
	struct slot *slot;

	// The last word, so that a comparison of fewer fails.
	arrival.flow.words[FLOW_WORDS - 1] = read_number();
	arrival.bytes = read_number();
	arrival.ecn_capable = read_number();
	red_sample(arrival.now);
	if (!strcmp(kind, "choke"))
		verdict = choke_arrive(&arrival, NULL);
	else if (!strcmp(kind, "gchoke"))
		verdict = gchoke_arrive(&arrival, NULL);
	else
		verdict = red_decide(&arrival);
	if (verdict.drop) {
		printf("dropped %llu %d ", id, verdict.drop);
		return;
	}
	if (verdict.mark)
		printf("marked %llu %d ", id, verdict.mark);
	slot = ring_push(&arrival);
	if (!slot)
		fail("the ring has no slot left");
	put_packet(slot, id + 1);
}

static void dequeue(void)
{
	__u64 now = read_number();
	__u32 bytes;
	struct slot *slot = ring_pop(&bytes);

	if (!slot) {
		red_idle(now);
		return;
	}
	printf("departed %llu 0 ", take_packet(slot) - 1);
	ring_settle();
}

int main(void)
{
	__u64 *field = (__u64 *)&parameters;
	char kind[16], operation[16];

	if (scanf("%15s", kind) != 1)
		fail("the discipline is missing");
	if (read_number() != sizeof(parameters) / sizeof(*field))
		fail("the parameters are not those of this version");
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*field); i++)
		field[i] = read_number();
	if (parameters.slots > MOST_SLOTS)
		fail("there are too many slots");
	state.red.count = -1;
	read_numbers(&for_red);
	read_numbers(&for_draws);
	while (scanf("%15s", operation) == 1) {
		if (!strcmp(operation, "enqueue"))
			enqueue(kind);
		else
			dequeue();
		printf("= %llu %llu %llu %u\n", state.counters.queued.packets, state.counters.queued.bytes, state.red.average,
		       ring_span());
	}
	return 0;
}
