/* dpdk [EAL OPTION…] -- DISCIPLINE RATE PACKETS: a forwarder between two ports of DPDK with a queue of Fairlane.
 *
 * Packets that port 0 receives wait in the discipline, and leave by port 1 at RATE bit/s. The program ends after PACKETS
 * packets and prints what became of them. With the ports of no hardware:
 *
 *   dpdk --no-huge --no-pci --vdev=net_null0 --vdev=net_null1 -- "choke limit=300p" 1000000000 100000
 */
#include <fairlane.h>
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { BURST = 32, DESCRIPTORS = 512, BUFFERS = 8191, CACHE = 256 };

/* A dropped packet goes back to its pool. */
static void on_event(void *ctx, uint64_t at, const fl_packet *packet, uint32_t reason, int32_t marked) {
  (void)ctx, (void)at, (void)reason;
  if (!marked) rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)packet->handle);
}

static int start(uint16_t port, struct rte_mempool *pool) {
  struct rte_eth_conf conf = {0};
  uint16_t receive = DESCRIPTORS, send = DESCRIPTORS;
  int node = rte_eth_dev_socket_id(port);
  return rte_eth_dev_configure(port, 1, 1, &conf) || rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &send) ||
         rte_eth_rx_queue_setup(port, 0, receive, node, NULL, pool) || rte_eth_tx_queue_setup(port, 0, send, node, NULL) ||
         rte_eth_dev_start(port);
}

/* What the discipline asks of a packet; one that is not IP belongs to the flow 0. */
static fl_packet described(struct rte_mbuf *buffer, uint64_t secret) {
  fl_packet packet = {.handle = (uintptr_t)buffer};
  const struct rte_ether_hdr *frame = rte_pktmbuf_mtod(buffer, const struct rte_ether_hdr *);
  const uint8_t *ip = (const uint8_t *)(frame + 1);
  if (rte_pktmbuf_data_len(buffer) > sizeof *frame &&
      (frame->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) || frame->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6))) {
    fl_classify(&packet, ip, rte_pktmbuf_data_len(buffer) - sizeof *frame, secret);
  }
  packet.bytes = rte_pktmbuf_pkt_len(buffer);
  /* This program does not write marks into headers, so the discipline drops; tunnel.c shows how to write them. */
  packet.tos &= ~3;
  return packet;
}

int main(int count, char **words) {
  int used = rte_eal_init(count, words);
  if (used < 0 || count - used != 4) {
    fprintf(stderr, "dpdk [EAL OPTION...] -- DISCIPLINE RATE PACKETS\n");
    return 2;
  }
  words += used;
  uint64_t rate = strtoull(words[2], NULL, 10), left = strtoull(words[3], NULL, 10), random[2];
  struct rte_mempool *pool = rte_pktmbuf_pool_create("packets", BUFFERS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  char error[400] = "RATE is in bit/s";
  if (getrandom(random, sizeof random, 0) != sizeof random || !pool || start(0, pool) || start(1, pool)) {
    fprintf(stderr, "dpdk: there are no two ports, or no memory\n");
    return 1;
  }
  fl_queue *queue = rate ? fl_queue_new(words[1], rate, random[0], on_event, NULL, error, sizeof error) : NULL;
  if (!queue) {
    fprintf(stderr, "dpdk: %s\n", error);
    return 2;
  }

  uint64_t hertz = rte_get_timer_hz(), begin = rte_get_timer_cycles(), sent = 0, unsent = 0;
  while (left > 0 && !fl_error(queue)) {
    struct rte_mbuf *buffers[BURST];
    fl_packet packets[BURST];
    uint64_t cycles = rte_get_timer_cycles() - begin;
    uint64_t now = cycles / hertz * 1000000000 + cycles % hertz * 1000000000 / hertz;
    uint16_t came = rte_eth_rx_burst(0, 0, buffers, left < BURST ? left : BURST);
    for (uint16_t i = 0; i < came; i++) packets[i] = described(buffers[i], random[1]);
    size_t taken = fl_enqueue_burst(queue, now, packets, came);
    /* A dead queue takes no more. */
    rte_pktmbuf_free_bulk(buffers + taken, came - taken);
    left -= came;

    uint16_t going = 0;
    while (going < BURST && fl_transmit(queue, now, &packets[going]) == 1) {
      buffers[going] = (struct rte_mbuf *)(uintptr_t)packets[going].handle;
      going++;
    }
    uint16_t gone = rte_eth_tx_burst(1, 0, buffers, going);
    rte_pktmbuf_free_bulk(buffers + gone, going - gone);
    sent += gone, unsent += going - gone;
  }

  fl_counters counters = {0};
  fl_get_counters(queue, &counters);
  fl_queue_free(queue);
  for (uint16_t port = 0; port < 2; port++) rte_eth_dev_stop(port), rte_eth_dev_close(port);
  printf("%" PRIu64 " came, %" PRIu64 " sent, %" PRIu64 " unsent, %" PRIu64 " dropped, %u of %u buffers are back\n",
         counters.arrived.packets, sent, unsent, counters.dropped.packets, rte_mempool_avail_count(pool), BUFFERS);
  int lost = rte_mempool_avail_count(pool) != BUFFERS;
  rte_mempool_free(pool);
  rte_eal_cleanup();
  return lost;
}
