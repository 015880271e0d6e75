// SPDX-License-Identifier: MIT OR GPL-2.0
// Includes what each of the two targets has: BPF in the kernel, and C in user space for tests.
#pragma once

#ifdef __bpf__
#include "kernel.h"
#else
#include "user.h"
#endif
