/* A flood and a polite flow at a link that takes half of the packets. Every handle must come back once. */
#include <stdio.h>
#include <stdlib.h>

#include "firmware.h"

enum { PACKETS = 20000 };

static unsigned char back[PACKETS];
static unsigned dropped[2], sent[2], memory;

static void leaves(unsigned counts[2], const struct choke_packet *packet) {
  counts[packet->flow]++;
  (*(unsigned char *)packet->handle)++;
}

static void on_drop(void *context, const struct choke_packet *packet) { leaves(context, packet); }

/* The firmware's heap; here it counts what is not freed. */
void *__real_malloc(size_t bytes);
void __real_free(void *pointer);
void *__wrap_malloc(size_t bytes) { return memory++, __real_malloc(bytes); }
void __wrap_free(void *pointer) { memory -= pointer != NULL, __real_free(pointer); }

int main(void) {
  if (choke_new(60, 30, 10, 1000000, 1, on_drop, dropped)) return 1;
  memory = 0;
  struct choke *queue = choke_new(60, 10, 30, 1000000, 1, on_drop, dropped);
  struct choke_packet packet;
  uint64_t now = 0;
  for (unsigned n = 0; n < PACKETS; n++, now += 4000000) {
    packet = (struct choke_packet){.handle = &back[n], .flow = n % 4 == 0, .bytes = 1000};
    choke_enqueue(queue, now, &packet);
    if (n % 2 == 0 && choke_dequeue(queue, now, &packet)) leaves(sent, &packet);
  }
  while (choke_dequeue(queue, now, &packet)) leaves(sent, &packet);
  choke_free(queue);
  for (unsigned n = 0; n < PACKETS; n++) {
    if (back[n] != 1) return fprintf(stderr, "packet %u came back %u times\n", n, back[n]), 1;
  }
  printf("the flood: %u sent, %u dropped; the other flow: %u sent, %u dropped; %u blocks of memory not freed\n", sent[0],
         dropped[0], sent[1], dropped[1], memory);
  /* The flood sent three times as much as the other flow; a smaller part of it gets through. */
  return memory != 0 || 10 * sent[0] > 8 * 3 * sent[1];
}
