// SPDX-License-Identifier: MIT OR GPL-2.0
// CHOKe (Pan, Prabhakar, Psounis 2000): compares each arrival with packets drawn from the queue, and drops those of one
// flow. Arrivals that do not match go on to RED.
#include "kernel.h"
#include "choke.h"
#include "qdisc.h"

QDISC(choke, choke_arrive);
