/* Uses every function of the library. The test c.rs compares what this prints with what Rust does. */
#include <fairlane.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 60000, BURST = 8, HANDLES = STEPS * BURST + 1 };

struct run {
  uint64_t random, sum;
  unsigned char state[HANDLES]; /* 0: unknown, 1: in the queue, 2: told once */
  size_t drops, marks, purged, twice;
};

static uint64_t next(struct run *run) {
  run->random = run->random * 6364136223846793005u + 1442695040888963407u;
  return run->random >> 33;
}

static void add(struct run *run, uint64_t value) { run->sum = (run->sum ^ value) * 1099511628211u; }

static void leaves(struct run *run, uint64_t handle) {
  run->twice += handle >= HANDLES || run->state[handle] != 1;
  if (handle < HANDLES) run->state[handle] = 2;
}

static void on_event(void *ctx, uint64_t now, const fl_packet *packet, uint32_t reason, int32_t marked) {
  struct run *run = ctx;
  (void)now;
  if (marked) {
    run->marks++;
  } else {
    leaves(run, packet->handle);
    if (reason == FL_REASON_PURGED) {
      run->purged++;
      return;
    }
    run->drops++;
  }
  add(run, packet->handle);
  add(run, 2 * reason + (marked != 0));
}

static void taken(struct run *run, const fl_packet *packet) {
  leaves(run, packet->handle);
  add(run, packet->handle);
  add(run, packet->tos);
  add(run, packet->label);
  add(run, packet->bytes);
}

static fl_packet packet(struct run *run, uint64_t handle) {
  fl_packet packet = {.handle = handle, .flow = next(run) % 50, .bytes = 40 + next(run) % 1461, .tos = next(run) % 256};
  packet.source = next(run) % 5;
  packet.destination = next(run) % 5;
  packet.label = next(run) % 1000000;
  packet.flags = next(run) % 4 == 0 ? FL_UNRESPONSIVE : 0;
  run->state[handle] = 1;
  return packet;
}

/* Every discipline, one by one or in bursts, with a clock that sometimes runs backwards. */
static int one(const char *kind, size_t burst) {
  struct run *run = calloc(1, sizeof *run);
  char error[400] = "";
  fl_queue *queue = fl_queue_new(kind, 10000000, 7, on_event, run, error, sizeof error);
  uint64_t now = 0, handle = 0;
  size_t queued = 0, refused = 0;
  fl_packet many[32];
  if (!queue) {
    printf("%s: %s\n", kind, error);
    return 1;
  }
  run->random = 1;
  for (int step = 0; step < STEPS; step++) {
    now += next(run) % 900000;
    uint64_t at = step % 100 == 99 && now > 5000000 ? now - 5000000 : now;
    if (step % 10000 == 9999) fl_link_rate(queue, 5000000 + step);
    size_t count = burst ? 1 + step % burst : 1;
    if (next(run) % 9 < 5) {
      for (size_t i = 0; i < count; i++) many[i] = packet(run, ++handle);
      if (burst) {
        if (fl_enqueue_burst(queue, at, many, count) != count) return 1;
      } else {
        int32_t reason = fl_enqueue(queue, at, many);
        queued += reason == 0;
        refused += reason > 0;
      }
    } else if (burst) {
      count = fl_dequeue_burst(queue, at, many, count);
      for (size_t i = 0; i < count; i++) taken(run, &many[i]);
    } else if (fl_dequeue(queue, at, many) == 1) {
      taken(run, many);
    }
  }
  fl_status status;
  fl_counters counters;
  uint64_t reasons = 0;
  fl_get_status(queue, &status);
  fl_get_counters(queue, &counters);
  for (uint32_t reason = 1; fl_reason_name(reason); reason++) {
    fl_count dropped, marked;
    if (fl_get_reason(queue, reason, &dropped, &marked)) return 1;
    reasons += dropped.packets;
    if (fl_get_reason(queue, reason, NULL, NULL)) return 1;
  }
  if (counters.arrived.packets != counters.departed.packets + counters.dropped.packets + status.packets) return 1;
  if (reasons != counters.dropped.packets || counters.dropped.packets != run->drops) return 1;
  if (!burst && queued + refused != handle) return 1;
  fl_queue_free(queue);
  size_t inside = 0;
  for (size_t i = 0; i < HANDLES; i++) inside += run->state[i] == 1;
  printf("%s %016llx drops %zu marks %zu left %llu", kind, (unsigned long long)run->sum, run->drops, run->marks,
         (unsigned long long)status.packets);
  printf("%s\n", inside || run->twice || run->purged != status.packets ? " LOST" : "");
  free(run);
  return 0;
}

static int all(size_t burst) {
  int failed = 0;
  for (size_t i = 0; fl_kinds(i); i++) failed |= one(fl_kinds(i), burst);
  return failed;
}

/* A thousand queues that are freed with packets inside. */
static int many(void) {
  size_t kinds = 0;
  struct run *run = calloc(1, sizeof *run);
  while (fl_kinds(kinds)) kinds++;
  for (int i = 0; i < 1000; i++) {
    fl_queue *queue = fl_queue_new(fl_kinds(i % kinds), 1000000, i, on_event, run, NULL, 0);
    memset(run->state, 0, sizeof run->state);
    for (uint64_t handle = 1; handle <= 20; handle++) {
      fl_packet arriving = packet(run, handle);
      fl_enqueue(queue, handle, &arriving);
    }
    uint32_t first = fl_peek_bytes(queue, 30);
    fl_packet out;
    if (i % 2 && first && (fl_dequeue(queue, 31, &out) != 1 || out.bytes != first)) return 1;
    if (i % 2 && first) taken(run, &out);
    fl_status before, after;
    fl_get_status(queue, &before);
    if (i % 3 == 0 && (fl_purge(queue, 40) != before.packets || fl_get_status(queue, &after) || after.packets)) return 1;
    fl_queue_free(queue);
    for (uint64_t handle = 1; handle <= 20; handle++) run->twice += run->state[handle] != 2;
  }
  printf("twice or never %zu\n", run->twice);
  free(run);
  return 0;
}

static void *in_thread(void *failed) {
  *(int *)failed = one("choke", 0);
  return NULL;
}

/* Two threads, with a queue each. */
static int threads(void) {
  int failed[2];
  pthread_t other[2];
  for (int i = 0; i < 2; i++) pthread_create(&other[i], NULL, in_thread, &failed[i]);
  for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
  return failed[0] | failed[1];
}

static void wrong(const char *text, uint64_t rate) {
  char error[80] = "untouched";
  fl_queue *queue = fl_queue_new(text, rate, 1, NULL, NULL, error, sizeof error);
  printf("%s: %s\n", text ? text : "NULL", queue ? "a queue" : error);
  fl_queue_free(queue);
}

/* Wrong text, wrong numbers and null pointers. */
static int errors(void) {
  char text[8000], little[8];
  fl_packet packet = {.bytes = 100};
  fl_count count;
  wrong(NULL, 0);
  wrong("", 0);
  wrong("chok", 0);
  wrong("choke limits=3p", 0);
  wrong("choke limit=-1p", 0);
  wrong("choke", 0);
  wrong("choke,limit=300p,min=400p", 10000000);
  wrong("\xff", 0);
  printf("NULL error: %d\n", fl_queue_new("chok", 0, 1, NULL, NULL, NULL, 0) == NULL);
  fl_queue_new("chok", 0, 1, NULL, NULL, little, sizeof little);
  printf("little room: %s\n", little);
  fl_queue *queue = fl_queue_new("droptail limit=2p", 10000000, 1, NULL, NULL, NULL, 0);
  for (int i = 0; i < 3; i++) printf("full: %d\n", fl_enqueue(queue, 0, &packet));
  int changed = fl_change(queue, "choke max=1p min=2p", text, sizeof text);
  printf("change: %d %s\n", changed, text);
  printf("changed: %d, in the queue %u\n", fl_change(queue, "choke", NULL, 0), fl_peek_bytes(queue, 0));
  printf("reasons: %d %d\n", fl_get_reason(queue, 0, &count, NULL), fl_get_reason(queue, 99, &count, NULL));
  printf("names: %s %s %d %d\n", fl_reason_name(1), fl_reason_name(FL_REASON_PURGED), fl_reason_name(0) == NULL,
         fl_kinds(1000) == NULL);
  printf("NULL: %d %d %d %d\n", fl_enqueue(NULL, 0, &packet), fl_enqueue(queue, 0, NULL), fl_dequeue(NULL, 0, &packet),
         fl_dequeue(queue, 0, NULL));
  printf("NULL: %zu %zu %u %d\n", fl_enqueue_burst(queue, 0, NULL, 1), fl_dequeue_burst(queue, 0, NULL, 1),
         fl_peek_bytes(NULL, 0), fl_ready_at(NULL) == UINT64_MAX);
  printf("NULL: %d %d %zu %d %d\n", fl_get_status(queue, NULL), fl_get_counters(NULL, NULL), fl_purge(NULL, 0),
         fl_change(NULL, "choke", NULL, 0), fl_error(queue) == NULL);
  printf("NULL: %d %d %d\n", fl_transmit(NULL, 0, &packet), fl_transmit(queue, 0, NULL),
         fl_transmit_at(NULL) == UINT64_MAX);
  fl_link_rate(queue, 0);
  fl_link_rate(NULL, 1);
  fl_queue_free(NULL);
  fl_queue_free(queue);
  int64_t length = fl_explain("choke limit=300p", 10000000, text, sizeof text);
  printf("explain: %d %.5s\n", length == (int64_t)strlen(text), text);
  printf("explain: %d, %d\n", (int)fl_explain("choke limit=x", 0, text, sizeof text),
         fl_explain("choke limit=300p", 10000000, NULL, 0) == length);
  const unsigned char ip[] = {0x45, 0xb9, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 54};
  fl_packet one = {.handle = 5, .flags = 1}, two = {0};
  printf("classify: %d", fl_classify(&one, ip, sizeof ip, 3));
  printf(" %u %u %u %u\n", one.bytes, one.tos, (unsigned)one.handle, one.flags);
  fl_classify(&two, ip, sizeof ip, 4);
  printf("classify: %d %d %d\n", one.flow != two.flow, fl_classify(NULL, ip, 20, 0), fl_classify(&one, NULL, 20, 0));
  printf("classify: %d %d\n", fl_classify(&one, ip, 0, 0), fl_classify(&one, (const unsigned char *)"x", 1, 0));
  return 0;
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  if (fl_abi_version() != 0) return 2;
  if (!strcmp(mode, "all")) return all(0);
  if (!strcmp(mode, "bursts")) return all(BURST);
  if (!strcmp(mode, "many")) return many();
  if (!strcmp(mode, "threads")) return threads();
  if (!strcmp(mode, "errors")) return errors();
  return 2;
}
