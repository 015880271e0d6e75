/*
 * Flows of TCP and one of UDP over a bottleneck, under a discipline of Fairlane or of ns-3.
 *
 *     choke-dumbbell --queue=choke,limit=300p
 *     choke-dumbbell --queue='ns3::RedQueueDisc[MaxSize=300p|MinTh=25|MaxTh=75]' --flows=20
 * --rate=10Mbps --udp=0Mbps
 *
 * Each sender has a link to the first router, where the discipline is, and the second router
 * receives. Counts begin after `warmup`.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 */

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/fairlane-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// What packets wait that the discipline sends.
class Delays
{
  public:
    /**
     * \param queue the discipline
     * \param from the time from which packets count
     */
    Delays(Ptr<QueueDisc> queue, Time from)
        : m_from(from)
    {
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Delays::Leaves, this));
        queue->TraceConnectWithoutContext("DropAfterDequeue",
                                          MakeCallback(&Delays::IsDropped, this));
    }

    /**
     * \return the mean delay in milliseconds
     */
    double GetMean() const
    {
        return m_count ? m_sum / m_count : 0;
    }

  private:
    void Leaves(Ptr<const QueueDiscItem> item)
    {
        Add(item, 1);
    }

    /// Takes back a packet that was counted when it was taken out of the queue to be dropped.
    void IsDropped(Ptr<const QueueDiscItem> item, const char*)
    {
        Add(item, -1);
    }

    void Add(Ptr<const QueueDiscItem> item, int sign)
    {
        if (Simulator::Now() >= m_from)
        {
            m_sum += sign * (Simulator::Now() - item->GetTimeStamp()).GetSeconds() * 1000;
            m_count += sign;
        }
    }

    Time m_from;
    double m_sum{0};
    int64_t m_count{0};
};

/// The packets that wait, as a mean over time.
class QueueLength
{
  public:
    /**
     * \param queue the discipline
     * \param from the time from which on it counts
     */
    QueueLength(Ptr<QueueDisc> queue, Time from)
        : m_since(from)
    {
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueLength::Changes, this));
    }

    /**
     * \param from the time from which it was counted
     * \return the mean until now in packets
     */
    double GetMean(Time from)
    {
        Changes(m_packets, m_packets);
        return m_sum / (Simulator::Now() - from).GetSeconds();
    }

  private:
    void Changes(uint32_t, uint32_t packets)
    {
        if (Simulator::Now() > m_since)
        {
            m_sum += m_packets * (Simulator::Now() - m_since).GetSeconds();
            m_since = Simulator::Now();
        }
        m_packets = packets;
    }

    Time m_since;
    uint32_t m_packets{0};
    double m_sum{0};
};

/// The counts of which the differences are printed.
struct Counts
{
    uint64_t tcp{0};
    uint64_t udp{0};
    uint32_t drops{0};
    uint32_t marks{0};
};

} // namespace

int
main(int argc, char** argv)
{
    std::string queueText = "choke,limit=300p";
    std::string rate = "1Mbps";
    std::string udp = "2Mbps";
    std::string tcp = "ns3::TcpNewReno";
    uint32_t flows = 32;
    double duration = 60;
    double warmup = 20;
    bool ecn = false;
    bool reasons = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("queue",
                 "a discipline of Fairlane, or a TypeId of ns-3 with attributes",
                 queueText);
    cmd.AddValue("rate", "the rate of the bottleneck", rate);
    cmd.AddValue("udp", "the rate of the UDP flow; 0Mbps: none", udp);
    cmd.AddValue("tcp", "the congestion control", tcp);
    cmd.AddValue("flows", "the flows of TCP", flows);
    cmd.AddValue("duration", "the end, in seconds", duration);
    cmd.AddValue("warmup", "the time until counts begin, in seconds", warmup);
    cmd.AddValue("ecn", "flows of TCP use ECN", ecn);
    cmd.AddValue("reasons", "print the statistics of the discipline", reasons);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(tcp));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1440));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));

    NodeContainer routers(2);
    InternetStackHelper stack;
    stack.Install(routers);

    // The device holds a packet, so that the queue is that of the discipline.
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue(rate));
    bottleneck.SetChannelAttribute("Delay", StringValue("20ms"));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer line = bottleneck.Install(routers);

    Ptr<QueueDisc> queue;
    if (queueText.compare(0, 5, "ns3::") == 0)
    {
        ObjectFactory factory;
        std::istringstream(queueText) >> factory;
        queue = factory.Create<QueueDisc>();
        routers.Get(0)->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(line.Get(0),
                                                                                   queue);
    }
    else
    {
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::FairlaneQueueDisc", "Discipline", StringValue(queueText));
        queue = control.Install(line.Get(0)).Get(0);
    }
    Delays delays(queue, Seconds(warmup));
    QueueLength length(queue, Seconds(warmup));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const Ipv4Address receiver = addresses.Assign(line).GetAddress(1);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(routers.Get(1)->GetObject<Ipv4>())->SetDefaultRoute("10.0.0.1", 1);

    // Sender 0 has UDP. Those of TCP are 5 to 24 ms away, and start in the first second.
    auto random = CreateObject<UniformRandomVariable>();
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i <= flows; i++)
    {
        auto sender = CreateObject<Node>();
        stack.Install(sender);
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
        access.SetChannelAttribute("Delay", TimeValue(MilliSeconds(5 + i % 20)));
        addresses.NewNetwork();
        auto ends = addresses.Assign(access.Install(sender, routers.Get(0)));
        routing.GetStaticRouting(sender->GetObject<Ipv4>())->SetDefaultRoute(ends.GetAddress(1), 1);

        const bool isUdp = i == 0;
        const std::string factory = isUdp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
        PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(routers.Get(1)).Get(0)));
        const InetSocketAddress to(receiver, 5000 + i);
        ApplicationContainer source;
        if (!isUdp)
        {
            BulkSendHelper bulk(factory, to);
            bulk.SetAttribute("SendSize", UintegerValue(1440));
            source = bulk.Install(sender);
        }
        else if (DataRate(udp).GetBitRate() > 0)
        {
            OnOffHelper flood(factory, to);
            flood.SetConstantRate(DataRate(udp), 1000);
            source = flood.Install(sender);
        }
        source.Start(Seconds(random->GetValue(0, 1)));
    }

    const auto count = [&]() {
        Counts counts;
        for (std::size_t i = 0; i < sinks.size(); i++)
        {
            (i == 0 ? counts.udp : counts.tcp) += sinks[i]->GetTotalRx();
        }
        counts.drops = queue->GetStats().nTotalDroppedPackets;
        counts.marks = queue->GetStats().nTotalMarkedPackets;
        return counts;
    };
    Counts before;
    Simulator::Schedule(Seconds(warmup), [&]() { before = count(); });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    const Counts after = count();
    const double kilobits = 8 / 1000.0 / (duration - warmup);
    std::printf("tcp %.0f kbit/s  udp %.0f kbit/s  delay %.2f ms  drops %u  marks %u  queue %.2f p\n",
                (after.tcp - before.tcp) * kilobits,
                (after.udp - before.udp) * kilobits,
                delays.GetMean(),
                after.drops - before.drops,
                after.marks - before.marks,
                length.GetMean(Seconds(warmup)));
    if (reasons)
    {
        std::ostringstream text;
        queue->GetStats().Print(text);
        std::printf("%s\n", text.str().c_str());
    }
    Simulator::Destroy();
    return 0;
}
