/* cost KIND BURST PACKETS: sends packets of 16 flows through a queue that holds about a hundred. direct.rs does the same. */
#include <fairlane.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 32, HELD = 100 };

int main(int count, char **arguments) {
  if (count != 4) return 2;
  size_t burst = strtoul(arguments[2], NULL, 10), packets = strtoul(arguments[3], NULL, 10);
  char error[200];
  fl_queue *queue = fl_queue_new(arguments[1], 100000000, 1, NULL, NULL, error, sizeof error);
  if (!queue || burst < 1 || burst > MOST) {
    fprintf(stderr, "cost: %s\n", queue ? "a burst has 1 to 32 packets" : error);
    return 1;
  }
  uint64_t now = 0, sum = 0;
  fl_packet in[MOST], out[MOST];
  for (size_t sent = 0; sent < packets; sent += burst) {
    for (size_t i = 0; i < burst; i++) {
      in[i] = (fl_packet){.handle = sent + i, .flow = (sent + i) % 16, .bytes = 1000, .tos = 2};
    }
    if (burst == 1) {
      fl_enqueue(queue, now, in);
    } else {
      fl_enqueue_burst(queue, now, in, burst);
    }
    now += 80000 * burst;
    if (sent < HELD) continue;
    if (burst == 1) {
      if (fl_dequeue(queue, now, out) == 1) sum += out->handle;
    } else {
      size_t got = fl_dequeue_burst(queue, now, out, burst);
      for (size_t i = 0; i < got; i++) sum += out[i].handle;
    }
  }
  printf("%llu\n", (unsigned long long)sum);
  fl_queue_free(queue);
  return 0;
}
