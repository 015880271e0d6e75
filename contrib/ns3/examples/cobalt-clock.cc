/*
 * How fast BLUE's probability rises in ns-3's COBALT: 100 packets come to a full queue within 1 ms,
 * which is less than the target of 5 ms, so that the probability should rise once, by 1/256.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 */

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>

using namespace ns3;

namespace
{

/// A packet without headers.
class PlainItem : public QueueDiscItem
{
  public:
    PlainItem()
        : QueueDiscItem(Create<Packet>(1000), Address(), 0)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return false;
    }

    uint32_t Hash(uint32_t) const override
    {
        return 1;
    }
};

/**
 * \param start the time at which packets come to a queue of 10 packets
 * \return BLUE's probability after them, in steps of 1/256
 */
double
Steps(Time start)
{
    auto queue = CreateObjectWithAttributes<CobaltQueueDisc>("MaxSize", StringValue("10p"));
    queue->Initialize();
    for (uint32_t i = 0; i < 110; i++)
    {
        const Time at = start + MicroSeconds(i < 10 ? 0 : 10 * (i - 10));
        Simulator::Schedule(at, [queue]() { queue->Enqueue(Create<PlainItem>()); });
    }
    Simulator::Run();
    Simulator::Destroy();
    return 256 * queue->GetPdrop();
}

} // namespace

int
main(int argc, char** argv)
{
    CommandLine cmd(__FILE__);
    cmd.Parse(argc, argv);
    std::printf("| 100 drops from | steps of BLUE |\n|---|---|\n");
    for (double start : {1.0, 4.0, 5.0, 60.0})
    {
        std::printf("| %.0f s | %.0f |\n", start, Steps(Seconds(start)));
    }
    return 0;
}
