// SPDX-License-Identifier: MIT OR GPL-2.0
// Packets that arrive by a device.
//
// A queue discipline sees only what leaves. So a program that the device runs first hands its packets to an IFB device
// (CONFIG_IFB), whose discipline queues them. What leaves that one goes on as if it had just arrived by the first.
#pragma once

#include "parameters.h"

#define NEXT_PROGRAM (-1)

// Where the discipline is gone, as with a device that somebody removed, packets pass.
static __always_inline int queue_if_in_place(void)
{
	if (!parameters.arriving_at || !state.in_use)
		return NEXT_PROGRAM;
	return bpf_redirect(parameters.arriving_at, 0);
}
