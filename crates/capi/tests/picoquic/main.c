/* Sends packets over a link with each discipline, and offers the same to a queue of the library at the same times. Prints
 * what the link did, or that the queue did something else.
 */
#include <string.h>

#include "../../../../contrib/c/picoquic_fairlane.c"

/* Packets come at three times the rate, 10 Mbit/s, but for a pause in which the queue becomes empty. */
enum { PACKETS = 6000, STEP = 270, PAUSE = 2000000, BYTES = 1000, SEED = 7 };

/* A packet that has left carries its two ECN bits; others have these numbers. */
enum { DROPPED = 4, UNKNOWN };

struct course {
  uint64_t order[PACKETS];
  uint8_t fate[PACKETS];
  uint64_t left, dropped;
};

static struct course through, direct;

static void leaves(struct course *course, uint64_t number, unsigned fate) {
  course->dropped += fate == DROPPED;
  if (fate != DROPPED) course->order[course->left++] = number;
  /* None twice. */
  course->fate[number] = course->fate[number] == UNKNOWN ? fate : 99;
}

static uint64_t transmit(const picoquictest_sim_link_t *link, uint64_t bytes) { return link->picosec_per_byte * bytes >> 20; }

/* As a link does: it frees what is dropped, sends the rest one after the other. */
void picoquictest_sim_link_enqueue(picoquictest_sim_link_t *link, picoquictest_sim_packet_t *packet, uint64_t now, int drop) {
  leaves(&through, packet->number, drop ? DROPPED : packet->ecn_mark);
  *(drop ? &link->packets_dropped : &link->packets_sent) += 1;
  if (!drop) link->queue_time = (now > link->queue_time ? now : link->queue_time) + transmit(link, packet->length);
  free(packet);
}

static picoquictest_sim_packet_t *made(uint64_t number) {
  picoquictest_sim_packet_t *packet = calloc(1, sizeof *packet);
  struct sockaddr_in *from = (void *)&packet->addr_from, *to = (void *)&packet->addr_to;
  /* A fifth of the packets are of one flow, and two fifths can be marked. */
  uint64_t flow = number % 5 ? number * 7 % 40 : 100;
  from->sin_family = to->sin_family = AF_INET;
  from->sin_port = htons(1000 + flow);
  from->sin_addr.s_addr = htonl(0x0a000000 + flow % 8);
  to->sin_port = htons(443), to->sin_addr.s_addr = htonl(0x0a010001);
  packet->length = BYTES + number % 3 * 100;
  packet->ecn_mark = flow % 2 ? 2 : 0;
  packet->number = number;
  return packet;
}

static void on_event(void *ctx, uint64_t now, const fl_packet *packet, uint32_t reason, int32_t marked) {
  (void)ctx, (void)now, (void)reason;
  if (!marked) leaves(&direct, packet->handle, DROPPED);
}

/* Takes packets as long as the link is free; returns when it is free again. */
static uint64_t taken(fl_queue *queue, const picoquictest_sim_link_t *link, uint64_t free_at, uint64_t now) {
  fl_packet next;
  while (free_at <= now && fl_dequeue(queue, 1000 * now, &next) == 1) {
    leaves(&direct, next.handle, next.tos & 3);
    free_at = now + transmit(link, next.bytes);
  }
  return free_at;
}

/* Asks for a packet each time that the link becomes free, and in vain if the queue is empty. */
static uint64_t sent_until(fl_queue *queue, const picoquictest_sim_link_t *link, uint64_t free_at, uint64_t now) {
  for (uint64_t due = UINT64_MAX; free_at < now && free_at != due;) {
    due = free_at;
    free_at = taken(queue, link, free_at, due);
  }
  return free_at;
}

int main(void) {
  for (size_t kind = 0; fl_kinds(kind); kind++) {
    picoquictest_sim_link_t link = {.picosec_per_byte = (UINT64_C(8) << 20) / 10};
    memset(&through, 0, sizeof through), memset(&direct, 0, sizeof direct);
    memset(through.fate, UNKNOWN, PACKETS), memset(direct.fate, UNKNOWN, PACKETS);
    if (fairlane_configure(&link, fl_kinds(kind), SEED)) return 1;
    fl_queue *queue = fl_queue_new(fl_kinds(kind), fairlane_rate(&link), SEED, on_event, NULL, NULL, 0);
    uint64_t free_at = 0, now = 0;
    for (uint64_t number = 0; number < PACKETS; number++) {
      now = STEP * number + (number < PACKETS / 4 ? 0 : PAUSE);
      /* Both links send what is due before the packet comes. */
      while (link.aqm_state->has_pending(link.aqm_state) && link.queue_time < now) {
        link.aqm_state->admit_pending(link.aqm_state, &link, link.queue_time);
      }
      free_at = sent_until(queue, &link, free_at, now);
      /* The rate halves in the middle. */
      if (number == PACKETS / 2) {
        link.picosec_per_byte *= 2;
        link.aqm_state->reset(link.aqm_state, &link, now);
        fl_link_rate(queue, fairlane_rate(&link));
        free_at = taken(queue, &link, free_at, now);
      }
      picoquictest_sim_packet_t *packet = made(number);
      fl_packet same = fairlane_packet(packet);
      same.handle = number;
      link.aqm_state->submit(link.aqm_state, &link, packet, now);
      fl_enqueue(queue, 1000 * now, &same);
      free_at = taken(queue, &link, free_at, now);
    }
    link.aqm_state->release(link.aqm_state, &link);
    fl_queue_free(queue);
    uint64_t marked = 0;
    for (uint64_t number = 0; number < PACKETS; number++) marked += through.fate[number] == 3;
    int same = !memcmp(&through, &direct, sizeof through) && !link.aqm_state && !memchr(through.fate, UNKNOWN, PACKETS);
    same = same && !memchr(through.fate, 99, PACKETS) && link.packets_dropped == through.dropped;
    printf("%s %llu %llu %llu%s\n", fl_kinds(kind), (unsigned long long)through.left, (unsigned long long)through.dropped,
           (unsigned long long)marked, same ? "" : " differs");
  }
  return 0;
}
