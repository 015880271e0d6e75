/* tunnel DEV PORT PEER:PORT RATE DISCIPLINE: one end of a tunnel over UDP, whose packets wait in a discipline of Fairlane.
 *
 * Packets that the system sends to the TUN device DEV wait in the queue that DISCIPLINE describes ("fq-codel", "choke
 * limit=300p"), leave at RATE bit/s and go to the other end in datagrams. Datagrams from there become packets of the
 * device. A VPN would encrypt a packet as it leaves the queue, after the discipline has read and marked its header.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fairlane.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The outer headers, IPv4 and UDP; the largest packet; how many packets are read before the clock is read again. */
enum { HEADERS = 28, ROOM = 65536 - HEADERS, BATCH = 64 };

struct packet {
  size_t bytes;
  uint8_t data[];
};

static volatile sig_atomic_t stopped;

static void stop(int number) { stopped = number; }

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

/* A dropped packet is ours again. */
static void on_event(void *ctx, uint64_t at, const fl_packet *packet, uint32_t reason, int32_t marked) {
  (void)ctx, (void)at, (void)reason;
  if (!marked) free((void *)(uintptr_t)packet->handle);
}

/* Writes a TOS or traffic class byte that the discipline has changed, and corrects the checksum of IPv4 (RFC 1624). */
static void set_tos(uint8_t *ip, uint8_t tos) {
  if (ip[0] >> 4 == 6) {
    ip[0] = 0x60 | tos >> 4;
    ip[1] = (uint8_t)(tos << 4) | (ip[1] & 0x0f);
    return;
  }
  uint32_t sum = (uint16_t)~(ip[10] << 8 | ip[11]) + (uint16_t)~ip[1] + (uint32_t)tos;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = ~((sum & 0xffff) + (sum >> 16));
  ip[1] = tos, ip[10] = sum >> 8 & 0xff, ip[11] = sum & 0xff;
}

/* Reads what waits at the device into the queue. */
static void read_device(int device, fl_queue *queue, uint64_t secret) {
  static uint8_t data[ROOM];
  for (int i = 0; i < BATCH; i++) {
    ssize_t bytes = read(device, data, sizeof data);
    if (bytes <= 0) return;
    fl_packet packet = {0};
    /* Packets of other protocols than IP are not sent. */
    if (fl_classify(&packet, data, bytes, secret)) continue;
    struct packet *copy = malloc(sizeof *copy + bytes);
    if (!copy) return;
    copy->bytes = bytes;
    memcpy(copy->data, data, bytes);
    packet.handle = (uintptr_t)copy;
    packet.bytes = bytes + HEADERS;
    if (fl_enqueue(queue, now(), &packet) == FL_DEAD) free(copy);
  }
}

/* Gives the device what has come from the other end. */
static void read_peer(int peer, int device) {
  static uint8_t data[ROOM];
  for (int i = 0; i < BATCH; i++) {
    ssize_t bytes = recv(peer, data, sizeof data, MSG_DONTWAIT);
    if (bytes < 0) return;
    /* The device takes only IP; a packet that it does not take is lost, as on any link. */
    if (write(device, data, bytes) < 0) continue;
  }
}

static int open_device(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  return device < 0 || ioctl(device, TUNSETIFF, &request) ? -1 : device;
}

/* A port in network order; 0 if that is none. */
static in_port_t port_of(const char *text) {
  char *end;
  long port = strtol(text, &end, 10);
  return end == text || *end || port < 1 || port > 65535 ? 0 : htons(port);
}

/* A socket at our port that takes datagrams of the other end alone. */
static int open_peer(const char *port, const char *peer) {
  struct sockaddr_in ours = {.sin_family = AF_INET, .sin_port = port_of(port)}, theirs = ours;
  char address[INET_ADDRSTRLEN] = "", *colon = strchr(peer, ':');
  if (!colon || colon - peer >= (ptrdiff_t)sizeof address) return errno = EINVAL, -1;
  memcpy(address, peer, colon - peer);
  theirs.sin_port = port_of(colon + 1);
  if (!ours.sin_port || !theirs.sin_port) return errno = EINVAL, -1;
  if (inet_pton(AF_INET, address, &theirs.sin_addr) != 1) return errno = EINVAL, -1;
  int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(socket_, (struct sockaddr *)&ours, sizeof ours)) return -1;
  return connect(socket_, (struct sockaddr *)&theirs, sizeof theirs) ? -1 : socket_;
}

int main(int count, char **words) {
  uint64_t random[2], rate = count == 6 ? strtoull(words[4], NULL, 10) : 0;
  if (!rate) return fputs("tunnel DEV PORT PEER:PORT RATE DISCIPLINE: RATE is in bit/s\n", stderr), 2;
  char error[400];
  /* Senders can guess neither where their packets fall nor which ones are dropped. */
  if (getrandom(random, sizeof random, 0) != sizeof random) return perror("tunnel: getrandom"), 1;
  fl_queue *queue = fl_queue_new(words[5], rate, random[0], on_event, NULL, error, sizeof error);
  if (!queue) return fprintf(stderr, "tunnel: %s\n", error), 2;
  int device = open_device(words[1]);
  if (device < 0) return perror(words[1]), fl_queue_free(queue), 1;
  int peer = open_peer(words[2], words[3]);
  if (peer < 0) {
    fprintf(stderr, "tunnel: %s %s: %s\n", words[2], words[3], strerror(errno));
    return fl_queue_free(queue), 1;
  }
  /* A signal between a look at `stopped` and the wait would be lost, so signals come during waits alone. */
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
  sigaction(SIGINT, &(struct sigaction){.sa_handler = stop}, NULL);

  while (!stopped) {
    fl_packet packet;
    while (fl_transmit(queue, now(), &packet) == 1) {
      struct packet *next = (void *)(uintptr_t)packet.handle;
      set_tos(next->data, packet.tos);
      /* A datagram that is lost on its way is nothing new to the packet in it. */
      if (send(peer, next->data, next->bytes, 0) < 0 && errno == EMSGSIZE) perror("tunnel: lower the MTU");
      free(next);
    }
    if (fl_error(queue)) break;
    /* Wait for packets, or until the link may send the next one. */
    uint64_t next = fl_transmit_at(queue), at = now(), wait = next > at ? next - at : 0;
    struct timespec timeout = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    struct pollfd ready[] = {{.fd = device, .events = POLLIN}, {.fd = peer, .events = POLLIN}};
    if (ppoll(ready, 2, next < UINT64_MAX ? &timeout : NULL, &before) <= 0) continue;
    if (ready[0].revents & POLLERR) break; /* The device is gone. */
    if (ready[0].revents) read_device(device, queue, random[1]);
    if (ready[1].revents) read_peer(peer, device);
  }

  fl_counters counters;
  if (!fl_get_counters(queue, &counters))
    fprintf(stderr, "tunnel: %llu sent, %llu dropped, %llu marked\n", (unsigned long long)counters.departed.packets,
            (unsigned long long)counters.dropped.packets, (unsigned long long)counters.marked.packets);
  if (fl_error(queue)) fprintf(stderr, "tunnel: %s\n", fl_error(queue));
  fl_queue_free(queue);
  return !stopped;
}
