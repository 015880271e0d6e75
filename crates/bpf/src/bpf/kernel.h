// SPDX-License-Identifier: MIT OR GPL-2.0
// The kernel's types and functions that the programs use. Fields are found by name when the object is loaded (CO-RE).
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16, __be16;
typedef int __s32;
typedef unsigned int __u32, __be32, __wsum;
typedef long long __s64;
typedef unsigned long long __u64, __be64;

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9 };

struct bpf_dynptr {
	__u64 opaque[2];
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

// libbpf has this from 1.1 on, and clang from 14 on.
#undef __kptr
#define __kptr __attribute__((btf_type_tag("kptr")))

#define CORE __attribute__((preserve_access_index))

struct sk_buff {
	unsigned char *head;
	unsigned char *data;
	__u16 network_header;
	__be16 protocol;
	char cb[48];
} CORE;

struct qdisc_skb_cb {
	unsigned int pkt_len;
} CORE;

struct qdisc_skb_head {
	__u32 qlen;
} CORE;

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
	__u32 requeues;
	__u32 overlimits;
} CORE;

struct Qdisc {
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} CORE;

struct __sk_buff {
	__u32 len;
};

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
} CORE;

struct netlink_ext_ack;
struct nlattr;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct bpf_sk_buff_ptr *);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
};

extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *pointer) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *pointer, __u64 offset, void *buffer, __u64 buffer__szk) __ksym;

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

typedef struct sk_buff *packet;
#define PACKET struct sk_buff __kptr *
#define DROP_LIST struct bpf_sk_buff_ptr *

#define random_for_red bpf_get_prandom_u32
#define random_for_draw bpf_get_prandom_u32

// Calls step(0, context), step(1, context) … until one returns other than 0, at most `times` times.
#define repeat(times, step, context) bpf_loop(times, step, context, 0)
