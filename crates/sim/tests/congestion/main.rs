//! What each law of the window does on a whole path: a bottleneck of 10 Mbit/s, packets of 1000 bytes, a round trip of
//! 40 ms without queues. So the bandwidth-delay product is 10^7 · 0.04 / 8000 = 50 packets, and a packet takes 0.8 ms.

mod bbr;
mod bottleneck;
mod cubic;
mod dctcp;
mod ecn_timeout;
mod hystart;
mod vegas;
