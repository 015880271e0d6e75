/* The declarations of picoquic's header with this name that contrib/c/picoquic_fairlane.c uses, for its test. */
#ifndef PICOQUIC_UTILS_H
#define PICOQUIC_UTILS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct st_picoquictest_sim_packet_t {
  struct st_picoquictest_sim_packet_t *next_packet;
  size_t length;
  struct sockaddr_storage addr_from, addr_to;
  uint8_t ecn_mark;
  /* The test's own: the packets are numbered. */
  uint64_t number;
} picoquictest_sim_packet_t;

typedef struct st_picoquictest_sim_link_t picoquictest_sim_link_t;

typedef struct st_picoquictest_aqm_t picoquictest_aqm_t;
struct st_picoquictest_aqm_t {
  void (*submit)(picoquictest_aqm_t *, picoquictest_sim_link_t *, picoquictest_sim_packet_t *, uint64_t);
  void (*reset)(picoquictest_aqm_t *, picoquictest_sim_link_t *, uint64_t);
  void (*release)(picoquictest_aqm_t *, picoquictest_sim_link_t *);
  int (*has_pending)(picoquictest_aqm_t *);
  void (*admit_pending)(picoquictest_aqm_t *, picoquictest_sim_link_t *, uint64_t);
};

struct st_picoquictest_sim_link_t {
  uint64_t queue_time, picosec_per_byte, packets_dropped, packets_sent;
  picoquictest_sim_packet_t *first_packet, *last_packet;
  picoquictest_aqm_t *aqm_state;
};

void picoquictest_sim_link_enqueue(picoquictest_sim_link_t *, picoquictest_sim_packet_t *, uint64_t now, int should_drop);

#endif
