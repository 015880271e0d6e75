/* CHOKe for firmware: what a program in C calls. Times are in nanoseconds of a clock that does not go back. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

/* A packet: the program's own pointer, the number of its flow, and its size in bytes. */
struct choke_packet {
  void *handle;
  uint32_t flow, bytes;
};

struct choke;

/* Makes a queue of up to `limit` packets, with CHOKe's two thresholds in packets, for a link of `rate` bit/s. `dropped` is
 * called for each dropped packet, whose handle is the program's again; it may not be NULL. Returns NULL for thresholds that do not fit.
 */
struct choke *choke_new(uint32_t limit, uint32_t min, uint32_t max, uint64_t rate, uint64_t seed,
                        void (*dropped)(void *context, const struct choke_packet *packet), void *context);

/* Offers a packet. It is in the queue afterwards, or `dropped` has been called. */
void choke_enqueue(struct choke *queue, uint64_t now, const struct choke_packet *packet);

/* Takes the next packet: returns 1 and writes it to `packet`, or 0 if there is none. */
int32_t choke_dequeue(struct choke *queue, uint64_t now, struct choke_packet *packet);

/* Frees a queue, which must be empty. */
void choke_free(struct choke *queue);

#endif
