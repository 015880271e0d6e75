/* Any discipline of Fairlane as the active queue management of a link of picoquic's simulator.
 *
 * Compile this file with picoquic's tests, declare the function below where a link is made, and call it:
 *
 *   int fairlane_configure(picoquictest_sim_link_t *link, const char *text, uint64_t seed);
 *
 * It returns 0, or -1 for a mistake in `text`, which is printed. The link keeps its rate, latency and losses. Disciplines
 * with a rate (cake bandwidth=…) are not for it: a link asks a queue whether packets wait, not until when.
 */
#include <fairlane.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "picoquic_utils.h"

typedef struct {
  /* First, so that a pointer to it is one to the whole. */
  picoquictest_aqm_t super;
  picoquictest_sim_link_t *link;
  fl_queue *queue;
} fairlane_aqm;

/* A link counts the microseconds of a byte in units of 2^-20. */
static uint64_t fairlane_rate(const picoquictest_sim_link_t *link) {
  return link->picosec_per_byte ? (UINT64_C(8000000) << 20) / link->picosec_per_byte : 0;
}

/* A hash of bytes, from another one on (FNV-1a). */
static uint64_t fairlane_hash(uint64_t hash, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
  return hash;
}

static uint64_t fairlane_host(const struct sockaddr_storage *address) {
  uint64_t start = UINT64_C(14695981039346656037);
  if (address->ss_family == AF_INET6) {
    return fairlane_hash(start, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr));
  }
  return fairlane_hash(start, &((const struct sockaddr_in *)address)->sin_addr, sizeof(struct in_addr));
}

/* What the disciplines ask of a packet. A flow is a pair of addresses and ports; ports are at one place in both kinds. */
static fl_packet fairlane_packet(picoquictest_sim_packet_t *packet) {
  fl_packet its = {.handle = (uintptr_t)packet, .bytes = (uint32_t)packet->length, .tos = packet->ecn_mark};
  its.source = fairlane_host(&packet->addr_from);
  its.destination = fairlane_host(&packet->addr_to);
  its.flow = fairlane_hash(its.source, &its.destination, sizeof its.destination);
  its.flow = fairlane_hash(its.flow, &((struct sockaddr_in *)&packet->addr_from)->sin_port, sizeof(in_port_t));
  its.flow = fairlane_hash(its.flow, &((struct sockaddr_in *)&packet->addr_to)->sin_port, sizeof(in_port_t));
  return its;
}

/* The link counts and frees a dropped packet. */
static void fairlane_event(void *ctx, uint64_t now, const fl_packet *packet, uint32_t reason, int32_t marked) {
  (void)reason;
  if (marked) return;
  picoquictest_sim_link_enqueue(((fairlane_aqm *)ctx)->link, (void *)(uintptr_t)packet->handle, now / 1000, 1);
}

/* Gives the link packets until it is busy. The simulator has microseconds, the library nanoseconds. */
static void fairlane_admit(picoquictest_aqm_t *self, picoquictest_sim_link_t *link, uint64_t now) {
  fl_packet next;
  while (link->queue_time <= now && fl_dequeue(((fairlane_aqm *)self)->queue, 1000 * now, &next) == 1) {
    picoquictest_sim_packet_t *packet = (void *)(uintptr_t)next.handle;
    packet->ecn_mark = next.tos & 3;
    picoquictest_sim_link_enqueue(link, packet, now, 0);
  }
}

static int fairlane_has_pending(picoquictest_aqm_t *self) {
  fl_status status;
  return !fl_get_status(((fairlane_aqm *)self)->queue, &status) && status.packets > 0;
}

static void fairlane_submit(picoquictest_aqm_t *self, picoquictest_sim_link_t *link, picoquictest_sim_packet_t *packet,
                            uint64_t now) {
  fl_packet its = fairlane_packet(packet), none;
  /* A link asks an empty queue when it becomes free: RED and others measure idle time from then. The simulator does not. */
  if (link->queue_time <= now && !fairlane_has_pending(self)) {
    fl_dequeue(((fairlane_aqm *)self)->queue, 1000 * link->queue_time, &none);
  }
  if (fl_enqueue(((fairlane_aqm *)self)->queue, 1000 * now, &its) == FL_DEAD) {
    picoquictest_sim_link_enqueue(link, packet, now, 1);
  }
  fairlane_admit(self, link, now);
}

/* The simulator calls it when it has changed the link. */
static void fairlane_reset(picoquictest_aqm_t *self, picoquictest_sim_link_t *link, uint64_t now) {
  fl_link_rate(((fairlane_aqm *)self)->queue, fairlane_rate(link));
  fairlane_admit(self, link, now);
}

static void fairlane_release(picoquictest_aqm_t *self, picoquictest_sim_link_t *link) {
  fl_queue_free(((fairlane_aqm *)self)->queue);
  free(self);
  link->aqm_state = NULL;
}

int fairlane_configure(picoquictest_sim_link_t *link, const char *text, uint64_t seed) {
  fairlane_aqm *aqm = calloc(1, sizeof *aqm);
  char error[400] = "no memory";
  if (aqm) aqm->queue = fl_queue_new(text, fairlane_rate(link), seed, fairlane_event, aqm, error, sizeof error);
  if (!aqm || !aqm->queue) {
    fprintf(stderr, "fairlane: %s\n", error);
    free(aqm);
    return -1;
  }
  if (link->aqm_state) link->aqm_state->release(link->aqm_state, link);
  aqm->link = link;
  aqm->super.submit = fairlane_submit;
  aqm->super.reset = fairlane_reset;
  aqm->super.release = fairlane_release;
  aqm->super.has_pending = fairlane_has_pending;
  aqm->super.admit_pending = fairlane_admit;
  link->aqm_state = &aqm->super;
  return 0;
}
