// A scenario of `fairlane characterize` in ns-3: groups of TCP and CBR flows over one bottleneck.
//
//   characterize --rate=10000000 --queue=ns3::PieQueueDisc --group=tcp,ns3::TcpLinuxReno,6,1500,0.025,0 …
//
// Every value is given, those of TCP and of the discipline as defaults of ns-3's attributes (`--ns3::TcpSocket::InitialCwnd=3`). It prints JSON: of each group the goodput
// in bit/s of packets as large as on the wire, and the mean one-way delay in seconds above that of the path without queues.

#include "network.h"

#include <algorithm>
#include <iomanip>
#include <memory>
#include <sstream>

using namespace ns3;

namespace
{

// Flows alike.
struct Group
{
    std::string name;
    // The congestion control, or `udp`.
    std::string kind;
    uint32_t count;
    uint32_t packet;
    // The delay of the links of its hosts in seconds.
    double delay;
    // Of each flow in bit/s; not used for TCP.
    double rate;
};

struct Options
{
    Links links{};
    std::string queue;
    double duration = 0;
    double warmup = 0;
    double starts = 0;
    uint32_t seed = 0;
    std::vector<Group> groups;
};

bool
ReadGroup(std::vector<Group>* groups, const std::string& text)
{
    std::istringstream fields(text);
    Group group;
    char comma{};
    std::getline(fields, group.name, ',');
    std::getline(fields, group.kind, ',');
    fields >> group.count >> comma >> group.packet >> comma >> group.delay >> comma >> group.rate;
    groups->push_back(group);
    return !fields.fail();
}

Options
ReadOptions(int argc, char** argv)
{
    Options o;
    CommandLine line(__FILE__);
    line.AddValue("rate", "rate of the bottleneck", o.links.rate);
    line.AddValue("delay", "propagation delay of the bottleneck", o.links.delay);
    line.AddValue("accessrate", "rate of a host's link", o.links.accessrate);
    line.AddValue("accesslimit", "queue of every link but the bottleneck", o.links.accesslimit);
    line.AddValue("device", "packets that the bottleneck's device holds under the discipline, 0 or 1", o.links.device);
    line.AddValue("queue", "type of the discipline", o.queue);
    line.AddValue("duration", "end of the run", o.duration);
    line.AddValue("warmup", "start of the measurement", o.warmup);
    line.AddValue("starts", "flows start at moments drawn from 0 to this", o.starts);
    line.AddValue("seed", "seed of every random number", o.seed);
    line.AddValue("group",
                  "NAME,KIND,COUNT,PACKET,DELAY,RATE; may be repeated",
                  std::bind(ReadGroup, &o.groups, std::placeholders::_1));
    line.Parse(argc, argv);
    if (o.groups.empty() || o.duration <= o.warmup || o.seed == 0)
    {
        Fail("characterize: there is no --group, no --seed, or --duration is not above --warmup");
    }
    return o;
}

// A congestion control of ns-3 with the limit of RFC 3465 (L = 2): an acknowledgement grows the window by that of two segments at most.
// Without it the one that ends a recovery counts a whole window.
template <typename Control>
class Limited : public Control
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("fairlane::" + Control::GetTypeId().GetName().substr(5))
                                 .SetParent<Control>()
                                 .template AddConstructor<Limited>();
        return type;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acknowledged) override
    {
        Control::IncreaseWindow(state, std::min<uint32_t>(acknowledged, 2));
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<Limited>(this);
    }
};

// CUBIC with the Reno-friendly region of RFC 9438, section 4.3, which ns-3 does not have, and the limit above.
class FriendlyCubic : public Limited<TcpCubic>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type =
            TypeId("fairlane::TcpCubic").SetParent<TcpCubic>().AddConstructor<FriendlyCubic>();
        return type;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acknowledged) override
    {
        const bool avoidance = state->m_cWnd >= state->m_ssThresh;
        if (avoidance)
        {
            Estimate(double(state->m_cWnd) / state->m_segmentSize, std::min<uint32_t>(acknowledged, 2));
        }
        Limited<TcpCubic>::IncreaseWindow(state, acknowledged);
        if (avoidance)
        {
            // ns-3's CUBIC counts whole segments.
            state->m_cWnd = std::max<uint32_t>(state->m_cWnd, uint32_t(m_estimate) * state->m_segmentSize);
        }
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override
    {
        m_former = double(state->m_cWnd) / state->m_segmentSize;
        m_estimate = 0;
        return Limited<TcpCubic>::GetSsThresh(state, inFlight);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<FriendlyCubic>(this);
    }

  private:
    // Grows the window that Reno would have, from the window at the begin of congestion avoidance on.
    void Estimate(double window, uint32_t acknowledged)
    {
        if (m_estimate == 0)
        {
            m_estimate = window;
        }
        m_estimate += (m_estimate < m_former ? 3 * (1 - BETA) / (1 + BETA) : 1.0) * acknowledged / window;
    }

    static constexpr double BETA = 0.7;
    // The windows of the estimate, 0 before congestion avoidance, and at the last congestion, in segments.
    double m_estimate = 0;
    double m_former = 0;
};

// The moment at which a packet left its host's IP layer.
class Departure : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("fairlane::Departure").SetParent<Tag>().AddConstructor<Departure>();
        return type;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return sizeof(at);
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU64(at);
    }

    void Deserialize(TagBuffer buffer) override
    {
        at = buffer.ReadU64();
    }

    void Print(std::ostream& out) const override
    {
        out << at;
    }

    uint64_t at = 0;
};

// The measurements of a group.
class Meter
{
  public:
    Meter(const Group& group, const Links& links)
        : m_name(group.name),
          m_payload(group.packet - PPP_HEADER - IP_HEADER - (group.kind == "udp" ? UDP_HEADER : TCP_HEADER)),
          m_packet(group.packet),
          m_unloaded(2 * group.delay + links.delay + 8.0 * group.packet * (2 / links.accessrate + 1 / links.rate))
    {
    }

    void Follow(Ptr<Node> source, Ptr<Node> host, Ptr<PacketSink> sink)
    {
        source->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("SendOutgoing",
                                                                        MakeCallback(&Meter::Sent, this));
        host->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("LocalDeliver",
                                                                      MakeCallback(&Meter::Delivered, this));
        sink->TraceConnectWithoutContext("Rx", MakeCallback(&Meter::Received, this));
    }

    void Restart()
    {
        m_bytes = m_packets = 0;
        m_queueing = 0;
        m_from = Simulator::Now().GetSeconds();
    }

    void Print(std::ostream& out) const
    {
        const double seconds = Simulator::Now().GetSeconds() - m_from;
        out << '"' << m_name << "\": {\"goodput_bps\": " << 8.0 * double(m_bytes) / m_payload * m_packet / seconds
            << ", \"queueing_s\": " << (m_packets > 0 ? m_queueing / double(m_packets) : 0.0) << "}";
    }

  private:
    void Sent(const Ipv4Header&, Ptr<const Packet> packet, uint32_t)
    {
        Departure departure;
        departure.at = Simulator::Now().GetNanoSeconds();
        packet->AddPacketTag(departure);
    }

    // Acknowledgements and handshakes are smaller.
    void Delivered(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        Departure departure;
        if (header.GetPayloadSize() + PPP_HEADER + IP_HEADER == m_packet && packet->PeekPacketTag(departure))
        {
            m_queueing += Simulator::Now().GetSeconds() - double(departure.at) / 1e9 - m_unloaded;
            ++m_packets;
        }
    }

    void Received(Ptr<const Packet> data, const Address&)
    {
        m_bytes += data->GetSize();
    }

    const std::string m_name;
    const uint32_t m_payload;
    const uint32_t m_packet;
    const double m_unloaded;
    double m_from = 0;
    double m_queueing = 0;
    uint64_t m_packets = 0;
    uint64_t m_bytes = 0;
};

void
MakeFlow(const Group& group, Network& network, double at, Meter& meter)
{
    const Ptr<Node> source = network.MakeHost(0, group.delay);
    const Ptr<Node> host = network.MakeHost(1, group.delay);
    if (group.kind == "udp")
    {
        meter.Follow(source, host, MakeUdpFlow(source, host, PORT, group.packet, group.rate, at));
        return;
    }
    source->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(TypeId::LookupByName(group.kind)));
    meter.Follow(source, host, MakeTcpFlow(source, host, PORT, group.packet, at));
}

// What the bottleneck's queue dropped, and what came to it.
class Losses
{
  public:
    explicit Losses(Ptr<QueueDisc> queue)
        : m_queue(queue)
    {
    }

    void Restart()
    {
        const QueueDisc::Stats& stats = m_queue->GetStats();
        m_arrived = stats.nTotalReceivedPackets;
        m_dropped = stats.nTotalDroppedPackets;
    }

    double Percent() const
    {
        const QueueDisc::Stats& stats = m_queue->GetStats();
        const double arrived = double(stats.nTotalReceivedPackets - m_arrived);
        return arrived > 0 ? 100.0 * double(stats.nTotalDroppedPackets - m_dropped) / arrived : 0.0;
    }

  private:
    Ptr<QueueDisc> m_queue;
    uint64_t m_arrived = 0;
    uint64_t m_dropped = 0;
};

} // namespace

int
main(int argc, char** argv)
{
    Limited<TcpLinuxReno>::GetTypeId();
    FriendlyCubic::GetTypeId();
    const Options options = ReadOptions(argc, argv);
    RngSeedManager::SetSeed(options.seed);
    TrafficControlHelper discipline;
    discipline.SetRootQueueDisc(options.queue);
    Network network(options.links, discipline);
    const Ptr<UniformRandomVariable> starts = CreateObject<UniformRandomVariable>();
    starts->SetAttribute("Max", DoubleValue(options.starts));
    std::vector<std::unique_ptr<Meter>> meters;
    for (const Group& group : options.groups)
    {
        meters.push_back(std::make_unique<Meter>(group, options.links));
        for (uint32_t flow = 0; flow < group.count; ++flow)
        {
            MakeFlow(group, network, starts->GetValue(), *meters.back());
        }
        Simulator::Schedule(Seconds(options.warmup), &Meter::Restart, meters.back().get());
    }
    Losses losses(network.Queue());
    Simulator::Schedule(Seconds(options.warmup), &Losses::Restart, &losses);
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();
    std::cout << std::setprecision(10) << "{\"drop_percent\": " << losses.Percent() << ", \"groups\": {";
    for (const auto& meter : meters)
    {
        std::cout << (meter == meters.front() ? "" : ", ");
        meter->Print(std::cout);
    }
    std::cout << "}}\n";
    Simulator::Destroy();
    return 0;
}
