// SPDX-License-Identifier: MIT OR GPL-2.0
// Fixed-point arithmetic. A q32 is a number times 2^32; every operation rounds down.
#pragma once

#include "types.h"

typedef __u64 q32;

#define ONE ((q32)1 << 32)

// Multiplies any number by a factor of at most 1, or two numbers whose whole parts have a product below 2^32.
static __always_inline q32 multiply(q32 number, q32 factor)
{
	return (number >> 32) * factor + (((number & (ONE - 1)) * factor) >> 32);
}

// Raises a base of at most 1 to a power by repeated squaring, so that any idle time costs at most 64 steps.
static __always_inline q32 power(q32 base, __u64 exponent)
{
	q32 result = ONE;

	for (int bit = 0; bit < 64 && exponent; bit++) {
		if (exponent & 1)
			result = multiply(result, base);
		base = multiply(base, base);
		exponent >>= 1;
	}
	return result;
}
