// SPDX-License-Identifier: MIT OR GPL-2.0
// RED (Floyd and Jacobson 1993): drops at random, the more the longer the average queue.
#include "kernel.h"
#include "ring.h"
#include "qdisc.h"

static __always_inline struct verdict red_arrive(const struct arrival *arrival, struct bpf_sk_buff_ptr *drops)
{
	return red_decide(arrival);
}

QDISC(red, red_arrive);
