// SPDX-License-Identifier: MIT OR GPL-2.0
// The same names in user space, where tests give the same decisions the same packets and random numbers.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

typedef __u64 packet; // its number, from 1
#define PACKET packet
#define DROP_LIST void *

__u32 random_for_red(void);
__u32 random_for_draw(void);

static inline void repeat(__u32 times, long (*step)(__u32, void *), void *context)
{
	for (__u32 i = 0; i < times; i++)
		if (step(i, context))
			return;
}
