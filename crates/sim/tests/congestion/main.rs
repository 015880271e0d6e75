//! Congestion control on a whole path: a bottleneck of 10 Mbit/s, packets of 1000 bytes, and a round-trip time of 40 ms
//! without queues. The bandwidth-delay product is 10^7 · 0.04 / 8000 = 50 packets, and a transmission takes 0.8 ms.

mod bbr;
mod bbr3;
mod bottleneck;
mod cubic;
mod dctcp;
mod ecn_timeout;
mod hystart;
mod ledbat;
mod prague;
mod vegas;
