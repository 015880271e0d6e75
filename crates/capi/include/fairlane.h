/* Fairlane's queue disciplines for C and C++. Made from crates/capi by its test header.rs; see libfairlane(3).
 *
 * One thread at a time may use a queue; different queues have nothing in common. Where a function says nothing else, a
 * pointer may be NULL, and the answer is then that of a dead queue. All other pointers must be what they are said to be:
 * what happens with one that is not is undefined. Times are in nanoseconds, of any clock that does not go back.
 */

#ifndef FAIRLANE_H
#define FAIRLANE_H

#include <stddef.h>
#include <stdint.h>

/*
 The version of the interface of this header: 0 until the first release, then one more with each change after which
 programs have to be compiled again.
 */
#define FL_ABI_VERSION 0

/*
 A flag of a packet: the transport does not slow down after a loss (asked by the discipline sac).
 */
#define FL_UNRESPONSIVE 1

/*
 The reason of packets that fl_purge and fl_queue_free find in a queue, and of those lost with a dead queue.
 */
#define FL_REASON_PURGED 255

/*
 The answer of a queue that an error of the library has ended; fl_error tells it. It takes no packets and gives none.
 */
#define FL_DEAD -1

/*
 A queue. One thread at a time may use it; different queues have nothing in common.
 */
typedef struct fl_queue fl_queue;

/*
 A packet, or what stands for one.
 */
typedef struct fl_packet {
  /*
   The caller's own number or pointer. No discipline looks at it.
   */
  uint64_t handle;
  /*
   The flow: packets with equal numbers belong together. fl_classify finds it from an IP header.
   */
  uint64_t flow;
  /*
   The sending host, for disciplines that share among hosts (cake); 0 stands for a host of the flow.
   */
  uint64_t source;
  /*
   The receiving host; 0 stands for a host of the flow.
   */
  uint64_t destination;
  /*
   The label of CSFQ in bit/s, which that discipline changes; 0 for none.
   */
  uint64_t label;
  /*
   The size on the wire in bytes, from 1 on.
   */
  uint32_t bytes;
  /*
   The TOS or traffic class byte: DSCP and ECN. A mark sets its two lowest bits (CE, RFC 3168).
   */
  uint8_t tos;
  /*
   A sum of FL_UNRESPONSIVE and numbers to come; 0 for a packet of TCP and the like.
   */
  uint8_t flags;
  /*
   0.
   */
  uint16_t reserved;
} fl_packet;

/*
 Called for each packet that a queue drops or marks, with the reason: a number from 1 on, or FL_REASON_PURGED.

 A dropped packet (marked is 0) has left the queue: its handle is the caller's again. A marked one stays in it. The
 packet is valid during the call. The function may not call anything for the same queue, and may not throw or jump
 out. NULL stands for a function that does nothing.
 */
typedef void (*fl_event)(void *ctx, uint64_t now, const struct fl_packet *packet, uint32_t reason, int32_t marked);

/*
 The state of a queue.
 */
typedef struct fl_status {
  /*
   The packets in the queue.
   */
  uint64_t packets;
  /*
   The bytes in the queue.
   */
  uint64_t bytes;
  /*
   The average queue that the discipline goes by, in packets or bytes; NaN where it keeps none.
   */
  double average;
  /*
   The probability, from 0 to 1, of a drop or mark; NaN where no single number holds.
   */
  double probability;
  /*
   When a packet may leave, in nanoseconds, although none may now; UINT64_MAX where nothing is held back.
   */
  uint64_t ready_at;
  /*
   The flows of which the discipline keeps state; UINT64_MAX where it keeps none or does not count.
   */
  uint64_t flows;
} fl_status;

/*
 A number of packets, and of their bytes.
 */
typedef struct fl_count {
  /*
   The packets.
   */
  uint64_t packets;
  /*
   The bytes.
   */
  uint64_t bytes;
} fl_count;

/*
 The counts of a queue since it was created, or purged.
 */
typedef struct fl_counters {
  /*
   All packets that came.
   */
  struct fl_count arrived;
  /*
   Packets that left by fl_dequeue.
   */
  struct fl_count departed;
  /*
   Dropped packets.
   */
  struct fl_count dropped;
  /*
   Marked packets.
   */
  struct fl_count marked;
} fl_counters;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Finds flow, hosts, TOS and size of an IP packet: `ip` are its first bytes, `length` how many there are. The handle
 and the label of `packet` stay. FL_UNRESPONSIVE is set, or cleared for TCP, SCTP and DCCP.

 A flow has addresses, protocol and ports in common. All fragments between two hosts with the same protocol are one
 flow, since later fragments have no ports. The size is that of the header, or `length` where the header has none, as
 with segmentation offload; the bytes of the link's own header are for the caller to add. `secret` keeps senders from
 choosing packets that fall into another's flow: draw it from the operating system's randomness, and keep it as long
 as the queue.

 Returns 0; or -1 if that is no IP packet, or a pointer is NULL: then nothing has changed.

 Undefined unless:
 `packet` is NULL, or points to a packet that can be written; `ip` is NULL, or points to `length` bytes.
 */
int32_t fl_classify(struct fl_packet *packet, const uint8_t *ip, size_t length, uint64_t secret);

/*
 Returns the version of the library's interface, which should be FL_ABI_VERSION of the header.
 */
uint32_t fl_abi_version(void);

/*
 Returns the name of discipline number `index`, from 0; NULL after the last one. It is valid forever.
 */
const char *fl_kinds(size_t index);

/*
 Returns the name of a reason, such as match_victim; NULL for a number that is none. It is valid forever. A program
 that counts by reason asks for 1, 2, 3 … until there is none.
 */
const char *fl_reason_name(uint32_t reason);

/*
 Writes to `out`, which has `room` bytes, each parameter of the discipline that `text` describes as it will be used
 on a link of `rate` bit/s (0: not known), one on a line, with its meaning and where its value comes from; then
 consequences and warnings. Returns the length of the whole text without the zero at its end, which may be more than
 fits; or -1 for a mistake in `text`, which `out` then has.

 Undefined unless:
 `text` is NULL, or ends with a zero; `out` is NULL, or points to `room` bytes that can be written.
 */
int64_t fl_explain(const char *text, uint64_t rate, char *out, size_t room);

/*
 Creates a queue as `text` describes it: a discipline and its parameters, "choke limit=300p min=100p", between spaces
 or commas. `rate` is that of the link in bit/s; 0 if it is not known, which not all disciplines accept. The same
 `seed` makes the same random decisions: where a sender could guess them, draw it from the operating system's
 randomness. `event` is called with `ctx` for each drop and mark.

 Returns NULL for a mistake in `text`, which `error`, of `room` bytes, then has.

 Undefined unless:
 `text` is NULL, or ends with a zero; `error` is NULL, or points to `room` bytes that can be written; `event` can be
 called with `ctx` until fl_queue_free returns, from the threads that use the queue.
 */
struct fl_queue *fl_queue_new(const char *text,
                              uint64_t rate,
                              uint64_t seed,
                              fl_event event,
                              void *ctx,
                              char *error,
                              size_t room);

/*
 Frees a queue. Packets in it are told to its event function with FL_REASON_PURGED. NULL is ignored.

 Undefined unless:
 `queue` is NULL, or from fl_queue_new and not freed; nothing uses it any more.
 */
void fl_queue_free(struct fl_queue *queue);

/*
 Offers a packet to the queue at `now`, in nanoseconds; a time before an earlier one counts as that. Returns 0 if it
 is in the queue; the reason, from 1 on, if it was dropped, of which the event function has been told; or FL_DEAD,
 and then the packet is still the caller's. A packet of 0 bytes counts as one of 1 byte, and comes back as one.

 Undefined unless:
 `queue` is NULL, or from fl_queue_new and not freed; `packet` is NULL, or points to a packet.
 */
int32_t fl_enqueue(struct fl_queue *queue, uint64_t now, const struct fl_packet *packet);

/*
 Offers `count` packets as fl_enqueue does, one after the other, at the same time. Returns how many of them the queue
 has taken or dropped: all, or fewer if the queue is dead, and then the others are still the caller's.

 Undefined unless:
 As fl_enqueue; `packets` is NULL, or points to `count` packets.
 */
size_t fl_enqueue_burst(struct fl_queue *queue, uint64_t now, const struct fl_packet *packets, size_t count);

/*
 Takes the next packet for the link at `now`. Returns 1 and writes it to `packet`; 0 if the queue is empty or holds
 all packets back (fl_ready_at); or FL_DEAD. A link asks whenever it becomes free, also an empty queue: RED and
 others measure idle time from then. fl_transmit does.

 Undefined unless:
 As fl_enqueue; `packet` is NULL, or can be written.
 */
int32_t fl_dequeue(struct fl_queue *queue, uint64_t now, struct fl_packet *packet);

/*
 Takes up to `room` packets as fl_dequeue does, at the same time. Returns how many there were.

 Undefined unless:
 As fl_enqueue; `packets` is NULL, or points to room for so many packets, which can be written.
 */
size_t fl_dequeue_burst(struct fl_queue *queue, uint64_t now, struct fl_packet *packets, size_t room);

/*
 Returns the bytes of the packet that leaves next at `now`, which then waits outside of the discipline; 0 if there is
 none, or if the queue is dead.

 Undefined unless:
 As fl_enqueue.
 */
uint32_t fl_peek_bytes(struct fl_queue *queue, uint64_t now);

/*
 Takes the next packet as fl_dequeue does, once the link has sent the one before it: packets leave at the link's rate
 of fl_queue_new or fl_link_rate. Time without a packet to send is lost. A call that comes late is made up for by the
 next ones, unless it is late by more than 50 ms. While the rate is 0, not known, it is fl_dequeue. From the first
 call on, use fl_dequeue and fl_dequeue_burst no more for this queue.

 Undefined unless:
 As fl_dequeue.
 */
int32_t fl_transmit(struct fl_queue *queue, uint64_t now, struct fl_packet *packet);

/*
 Returns when to call fl_transmit, in nanoseconds: the link becomes free, or the discipline may let a packet leave;
 UINT64_MAX if nothing can happen before the next packet comes. It holds until the next call that changes the queue.

 Undefined unless:
 As fl_enqueue.
 */
uint64_t fl_transmit_at(struct fl_queue *queue);

/*
 Returns when a packet may leave, in nanoseconds, after fl_dequeue gave none although packets wait; UINT64_MAX if
 nothing is held back. It holds until the next call that changes the queue.

 Undefined unless:
 As fl_enqueue.
 */
uint64_t fl_ready_at(struct fl_queue *queue);

/*
 Tells the queue the rate of its link in bit/s, whenever that changes. A rate of 0 is ignored.

 Undefined unless:
 As fl_enqueue.
 */
void fl_link_rate(struct fl_queue *queue, uint64_t bits);

/*
 Replaces discipline and parameters by those of `text`. The new one takes what arrives. Packets in the queue leave
 first; where the old discipline holds them back, packets that came later may pass them. Until they have left, more
 than the new limit may wait. The counts go on. Returns 0; or -1 for a mistake in `text`, which `error`, of `room`
 bytes, then has, and nothing has changed.

 Undefined unless:
 As fl_queue_new and fl_enqueue.
 */
int32_t fl_change(struct fl_queue *queue, const char *text, char *error, size_t room);

/*
 Frees all packets of the queue, which are told to its event function at `now` with FL_REASON_PURGED, in any order,
 and begins afresh: averages, probabilities and counts as after fl_queue_new, and other random decisions. Returns how
 many packets there were. A dead queue stays dead, and gives its packets back with fl_queue_free.

 Undefined unless:
 As fl_enqueue.
 */
size_t fl_purge(struct fl_queue *queue, uint64_t now);

/*
 Returns the error that ended the queue; NULL if it is alive. It is valid until fl_queue_free. For NULL it says that
 there is no queue.

 Undefined unless:
 As fl_enqueue.
 */
const char *fl_error(const struct fl_queue *queue);

/*
 Writes the state of the queue to `status`. Returns 0, or FL_DEAD.

 Undefined unless:
 As fl_enqueue; `status` is NULL, or can be written.
 */
int32_t fl_get_status(struct fl_queue *queue, struct fl_status *status);

/*
 Writes the counts of the queue to `counters`. Returns 0, or FL_DEAD.

 Undefined unless:
 As fl_enqueue; `counters` is NULL, or can be written.
 */
int32_t fl_get_counters(struct fl_queue *queue, struct fl_counters *counters);

/*
 Writes the packets that were dropped and marked for a reason; either pointer may be NULL. Returns 0; or -1 if there
 is no such reason, or the queue is dead.

 Undefined unless:
 As fl_enqueue; `dropped` and `marked` are NULL, or can be written.
 */
int32_t fl_get_reason(struct fl_queue *queue, uint32_t reason, struct fl_count *dropped, struct fl_count *marked);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FAIRLANE_H */
