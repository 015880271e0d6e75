// SPDX-License-Identifier: MIT OR GPL-2.0
// gCHOKe (Eshete and Jiang 2012): CHOKe that goes on drawing while it matches.
#include "kernel.h"
#include "choke.h"
#include "qdisc.h"

QDISC(gchoke, gchoke_arrive);
