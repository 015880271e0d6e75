// A dumbbell in ns-3: TCP and CBR over one bottleneck.
//
//   dumbbell --tcp=32 --udp=1 --rate=1000000 …
//
// It takes the parameters of ../ns2/dumbbell.tcl under the same names, with the same units, and prints the same JSON.
// The runner `bench/peers/run` derives them from a scenario file.
//
// Differences from ns-2 that no setting removes: connections are opened by a handshake, round trips are
// measured to the nanosecond, slow start begins without a threshold, and an acknowledgement is 42 bytes.

#include "network.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// The parameters, as in ../ns2/dumbbell.tcl.
struct Options
{
    uint32_t tcp = 0;
    std::string cc;
    std::string preset;
    uint32_t window = 0;
    uint32_t udp = 0;
    double udprate = 0;
    uint32_t packet = 0;
    uint32_t ack = 0;
    double rate = 0;
    double delay = 0;
    double accessrate = 0;
    double accessdelay = 0;
    uint32_t accesslimit = 0;
    std::string queue;
    uint32_t limit = 0;
    double min = 0;
    double max = 0;
    double probability = 0;
    double weight = 0;
    bool wait = false;
    bool gentle = false;
    uint32_t hosts = 0;
    double duration = 0;
    double warmup = 0;
    double starts = 0;
    uint32_t seed = 1;
};

Options
ReadOptions(int argc, char** argv)
{
    Options o;
    CommandLine line(__FILE__);
    line.AddValue("tcp", "number of TCP flows", o.tcp);
    line.AddValue("cc", "newreno", o.cc);
    line.AddValue("preset", "ns2-1999: as near to it as ns-3 gets", o.preset);
    line.AddValue("window", "receiver window, packets", o.window);
    line.AddValue("udp", "number of CBR flows", o.udp);
    line.AddValue("udprate", "rate of each CBR flow", o.udprate);
    line.AddValue("packet", "size of a data packet on the wire", o.packet);
    line.AddValue("ack", "size of an acknowledgement; ns-3 has its own", o.ack);
    line.AddValue("rate", "rate of the bottleneck", o.rate);
    line.AddValue("delay", "propagation delay of the bottleneck", o.delay);
    line.AddValue("accessrate", "rate of a host's link", o.accessrate);
    line.AddValue("accessdelay", "propagation delay of a host's link", o.accessdelay);
    line.AddValue("accesslimit", "queue of every link but the bottleneck", o.accesslimit);
    line.AddValue("queue", "droptail or red", o.queue);
    line.AddValue("limit", "packets that the bottleneck's queue can hold", o.limit);
    line.AddValue("min", "RED: lower threshold", o.min);
    line.AddValue("max", "RED: upper threshold", o.max);
    line.AddValue("probability", "RED: drop probability at the upper threshold", o.probability);
    line.AddValue("weight", "RED: weight of a sample in the average", o.weight);
    line.AddValue("wait", "RED: space drops out", o.wait);
    line.AddValue("gentle", "RED: a slope above max", o.gentle);
    line.AddValue("hosts", "host pairs for the flows of a kind; 0 for one each", o.hosts);
    line.AddValue("duration", "end of the run", o.duration);
    line.AddValue("warmup", "start of the measurement", o.warmup);
    line.AddValue("starts", "flows start at moments drawn from 0 to this", o.starts);
    line.AddValue("seed", "seed of every random number", o.seed);
    line.Parse(argc, argv);
    if (o.cc != "newreno")
    {
        Fail("dumbbell: --cc=" + o.cc + ": only newreno");
    }
    if (o.preset != "ns2-1999")
    {
        Fail("dumbbell: --preset=" + o.preset + ": only ns2-1999");
    }
    if (o.packet <= PPP_HEADER + IP_HEADER + TCP_HEADER || o.duration <= o.warmup)
    {
        Fail("dumbbell: --packet is too small, or --duration is not above --warmup");
    }
    return o;
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void
SetTcpDefaults(const Options& o)
{
    const uint32_t buffer = o.window * SegmentSize(o.packet);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SegmentSize(o.packet)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(6)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(NEVER_GIVE_UP));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(NEVER_GIVE_UP));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(100)));
}

TrafficControlHelper
Discipline(const Options& o)
{
    TrafficControlHelper discipline;
    if (o.queue == "droptail")
    {
        discipline.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(InPackets(o.limit)));
    }
    else if (o.queue == "red")
    {
        // clang-format off
        discipline.SetRootQueueDisc("ns3::RedQueueDisc",
            "MaxSize", QueueSizeValue(InPackets(o.limit)),
            "MinTh", DoubleValue(o.min),
            "MaxTh", DoubleValue(o.max),
            "LInterm", DoubleValue(1.0 / o.probability),
            "QW", DoubleValue(o.weight),
            "Wait", BooleanValue(o.wait),
            "Gentle", BooleanValue(o.gentle),
            "MeanPktSize", UintegerValue(o.packet),
            "LinkBandwidth", DataRateValue(BitRate(o.rate)),
            "LinkDelay", TimeValue(Seconds(o.delay)));
        // clang-format on
    }
    else
    {
        Fail("dumbbell: --queue=" + o.queue + ": droptail or red");
    }
    return discipline;
}

// Hosts for `flows` flows on the router of `side`: one each, or those that the flows share.
std::vector<Ptr<Node>>
MakeHosts(const Options& o, Network& network, uint32_t flows, uint32_t side)
{
    std::vector<Ptr<Node>> hosts(o.hosts > 0 ? std::min(o.hosts, flows) : flows);
    std::generate(hosts.begin(), hosts.end(), [&] { return network.MakeHost(side, o.accessdelay); });
    return hosts;
}

void
MakeTcpFlows(const Options& o, Network& network, Ptr<RandomVariableStream> starts)
{
    const auto sources = MakeHosts(o, network, o.tcp, 0);
    const auto sinks = MakeHosts(o, network, o.tcp, 1);
    for (uint32_t i = 0; i < o.tcp; ++i)
    {
        const uint16_t port = PORT + i / sinks.size();
        MakeTcpFlow(sources[i % sources.size()], sinks[i % sinks.size()], port, o.packet, starts->GetValue());
    }
}

void
MakeUdpFlows(const Options& o, Network& network, Ptr<RandomVariableStream> starts)
{
    const auto sources = MakeHosts(o, network, o.udp, 0);
    const auto sinks = MakeHosts(o, network, o.udp, 1);
    for (uint32_t i = 0; i < o.udp; ++i)
    {
        const uint16_t port = PORT + i / sinks.size();
        MakeUdpFlow(sources[i % sources.size()], sinks[i % sinks.size()], port, o.packet, o.udprate, starts->GetValue());
    }
}

// Counts of one group at the bottleneck.
struct Group
{
    const char* name;
    uint8_t protocol;
    uint64_t arrived = 0;
    uint64_t dropped = 0;
    uint64_t bytes = 0;
};

// Counts at the bottleneck's queue since the last `Restart`.
class Meter
{
  public:
    explicit Meter(Ptr<QueueDisc> queue)
    {
        queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Meter::Enqueued, this));
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Meter::Dequeued, this));
        queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Meter::Dropped, this));
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Meter::LengthChanged, this));
    }

    void Restart()
    {
        for (Group& group : m_groups)
        {
            group = Group{group.name, group.protocol};
        }
        m_area = 0;
        m_since = m_from = Simulator::Now().GetSeconds();
    }

    void Print(double setupCpu)
    {
        const double now = Simulator::Now().GetSeconds();
        LengthChanged(m_length, m_length);
        uint64_t arrived = 0;
        uint64_t dropped = 0;
        std::cout << std::fixed << std::setprecision(4) << "{\"groups\": {";
        for (const Group& group : m_groups)
        {
            arrived += group.arrived;
            dropped += group.dropped;
            std::cout << (&group == m_groups.data() ? "" : ", ") << '"' << group.name << "\": {\"throughput_bps\": "
                      << 8.0 * double(group.bytes) / (now - m_from)
                      << ", \"drop_percent\": " << Percent(group.dropped, group.arrived)
                      << ", \"arrived\": " << group.arrived << "}";
        }
        std::cout << "}, \"drop_percent\": " << Percent(dropped, arrived)
                  << ", \"mean_packets\": " << m_area / (now - m_from) << ", \"setup_cpu_s\": " << setupCpu << "}\n";
    }

  private:
    static double Percent(uint64_t part, uint64_t whole)
    {
        return whole > 0 ? 100.0 * double(part) / double(whole) : 0.0;
    }

    Group& GroupOf(Ptr<const QueueDiscItem> item)
    {
        const auto packet = DynamicCast<const Ipv4QueueDiscItem>(item);
        return m_groups[packet->GetHeader().GetProtocol() == m_groups[0].protocol ? 0 : 1];
    }

    void Enqueued(Ptr<const QueueDiscItem> item)
    {
        ++GroupOf(item).arrived;
    }

    void Dropped(Ptr<const QueueDiscItem> item, const char*)
    {
        Group& group = GroupOf(item);
        ++group.arrived;
        ++group.dropped;
    }

    void Dequeued(Ptr<const QueueDiscItem> item)
    {
        GroupOf(item).bytes += item->GetSize() + PPP_HEADER;
    }

    void LengthChanged(uint32_t, uint32_t length)
    {
        const double now = Simulator::Now().GetSeconds();
        m_area += (now - m_since) * m_length;
        m_since = now;
        m_length = length;
    }

    std::array<Group, 2> m_groups{Group{"tcp", TcpL4Protocol::PROT_NUMBER}, Group{"udp", UdpL4Protocol::PROT_NUMBER}};
    double m_from = 0;
    double m_since = 0;
    double m_area = 0;
    uint32_t m_length = 0;
};

} // namespace

int
main(int argc, char** argv)
{
    const Options options = ReadOptions(argc, argv);
    RngSeedManager::SetSeed(options.seed);
    SetTcpDefaults(options);
    Network network({options.rate, options.delay, options.accessrate, options.accesslimit, 1}, Discipline(options));
    const Ptr<UniformRandomVariable> starts = CreateObject<UniformRandomVariable>();
    starts->SetAttribute("Max", DoubleValue(options.starts));
    MakeTcpFlows(options, network, starts);
    MakeUdpFlows(options, network, starts);
    Meter meter(network.Queue());
    Simulator::Schedule(Seconds(options.warmup), &Meter::Restart, &meter);
    Simulator::Stop(Seconds(options.duration));
    const double setupCpu = CpuSeconds();
    Simulator::Run();
    meter.Print(setupCpu);
    Simulator::Destroy();
    return 0;
}
