// The network of both programs: two routers with a bottleneck between them, and hosts around them.

#ifndef FAIRLANE_PEERS_NETWORK_H
#define FAIRLANE_PEERS_NETWORK_H

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

// The bytes of the headers of a packet on a point-to-point link.
constexpr uint32_t PPP_HEADER = 2;
constexpr uint32_t IP_HEADER = 20;
constexpr uint32_t TCP_HEADER = 20;
constexpr uint32_t UDP_HEADER = 8;
constexpr uint16_t PORT = 9;
// A greedy sender never gives up, however many times in a row it has to wait.
constexpr uint32_t NEVER_GIVE_UP = 1'000'000;

[[noreturn]] inline void
Fail(const std::string& message)
{
    std::cerr << message << "\n";
    std::exit(2);
}

inline ns3::DataRate
BitRate(double bitsPerSecond)
{
    return ns3::DataRate(static_cast<uint64_t>(bitsPerSecond));
}

inline ns3::QueueSize
InPackets(uint32_t packets)
{
    return ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, packets);
}

// The payload of a segment whose packet has `packet` bytes on the wire.
inline uint32_t
SegmentSize(uint32_t packet)
{
    return packet - PPP_HEADER - IP_HEADER - TCP_HEADER;
}

// The links; rates in bit/s, delays in seconds.
struct Links
{
    double rate;
    double delay;
    double accessrate;
    // The queue of every link but the bottleneck, in packets.
    uint32_t accesslimit;
    // The packets that the bottleneck's device holds under the discipline, without the one in transmission: 0 or 1.
    uint32_t device;
};

// Two routers, hosts around them, and addresses and routes for all.
class Network
{
  public:
    Network(const Links& links, ns3::TrafficControlHelper discipline)
        : m_links(links)
    {
        // A network of four addresses for each link.
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
        m_routers.Create(2);
        m_stack.Install(m_routers);
        m_access.SetDeviceAttribute("DataRate", ns3::DataRateValue(BitRate(links.accessrate)));
        m_access.SetQueue("ns3::DropTailQueue<Packet>",
                          "MaxSize",
                          ns3::QueueSizeValue(InPackets(links.accesslimit)));
        MakeBottleneck(discipline);
    }

    ns3::Ptr<ns3::QueueDisc> Queue() const
    {
        return m_queue;
    }

    // A host on the router of `side`, over a link of `delay` seconds.
    ns3::Ptr<ns3::Node> MakeHost(uint32_t side, double delay)
    {
        const ns3::Ptr<ns3::Node> host = ns3::CreateObject<ns3::Node>();
        m_stack.Install(host);
        m_access.SetChannelAttribute("Delay", ns3::TimeValue(ns3::Seconds(delay)));
        const ns3::NetDeviceContainer devices = m_access.Install(host, m_routers.Get(side));
        const ns3::Ipv4InterfaceContainer ends = Address(devices);
        // The only queue is that of the devices. (Assigning an address has put a discipline over it.)
        ns3::TrafficControlHelper().Uninstall(devices);
        DefaultRoute(host, ends.GetAddress(1), 1);
        return host;
    }

  private:
    ns3::Ipv4InterfaceContainer Address(const ns3::NetDeviceContainer& devices)
    {
        const ns3::Ipv4InterfaceContainer ends = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        return ends;
    }

    void DefaultRoute(ns3::Ptr<ns3::Node> node, ns3::Ipv4Address gateway, uint32_t interface)
    {
        ns3::Ipv4StaticRoutingHelper()
            .GetStaticRouting(node->GetObject<ns3::Ipv4>())
            ->SetDefaultRoute(gateway, interface);
    }

    // The device holds one packet under the discipline, or none, so that the discipline is the queue.
    void MakeBottleneck(ns3::TrafficControlHelper& discipline)
    {
        ns3::PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", ns3::DataRateValue(BitRate(m_links.rate)));
        link.SetChannelAttribute("Delay", ns3::TimeValue(ns3::Seconds(m_links.delay)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns3::QueueSizeValue(InPackets(m_links.device ? 1 : 2)));
        const ns3::NetDeviceContainer devices = link.Install(m_routers);
        m_queue = discipline.Install(devices.Get(0)).Get(0);
        if (m_links.device == 0)
        {
            HoldNothing(devices.Get(0));
        }
        ns3::TrafficControlHelper reverse;
        reverse.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", ns3::QueueSizeValue(InPackets(m_links.accesslimit)));
        reverse.Install(devices.Get(1));
        const ns3::Ipv4InterfaceContainer ends = Address(devices);
        DefaultRoute(m_routers.Get(0), ends.GetAddress(1), 1);
        DefaultRoute(m_routers.Get(1), ends.GetAddress(0), 1);
    }

    // Stops the discipline during each transmission, so that a packet leaves it when its transmission begins.
    void HoldNothing(ns3::Ptr<ns3::NetDevice> device)
    {
        m_line = device->GetObject<ns3::NetDeviceQueueInterface>()->GetTxQueue(0);
        device->TraceConnectWithoutContext("PhyTxBegin", ns3::MakeCallback(&Network::TransmissionBegins, this));
        device->TraceConnectWithoutContext("PhyTxEnd", ns3::MakeCallback(&Network::TransmissionEnds, this));
    }

    void TransmissionBegins(ns3::Ptr<const ns3::Packet>)
    {
        m_line->Stop();
    }

    // The device is ready only when its callback has returned.
    void TransmissionEnds(ns3::Ptr<const ns3::Packet>)
    {
        ns3::Simulator::ScheduleNow(&ns3::NetDeviceQueue::Wake, m_line);
    }

    const Links m_links;
    ns3::NodeContainer m_routers;
    ns3::InternetStackHelper m_stack;
    ns3::PointToPointHelper m_access;
    ns3::Ipv4AddressHelper m_addresses;
    ns3::Ptr<ns3::QueueDisc> m_queue;
    ns3::Ptr<ns3::NetDeviceQueue> m_line;
};

// The first address of a host's only link.
inline ns3::Ipv4Address
AddressOf(ns3::Ptr<ns3::Node> host)
{
    return host->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
}

inline void
Start(ns3::Ptr<ns3::Application> application, ns3::Ptr<ns3::Node> host, double at)
{
    application->SetStartTime(ns3::Seconds(at));
    host->AddApplication(application);
}

// A receiver of everything that comes for one flow. All the flows of a host differ by port.
inline ns3::Ptr<ns3::PacketSink>
MakeSink(ns3::Ptr<ns3::Node> host, uint16_t port, ns3::TypeId protocol)
{
    const ns3::Ptr<ns3::PacketSink> sink = ns3::CreateObject<ns3::PacketSink>();
    sink->SetAttribute("Protocol", ns3::TypeIdValue(protocol));
    sink->SetAttribute("Local", ns3::AddressValue(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port)));
    Start(sink, host, 0);
    return sink;
}

// A flow of unlimited data by TCP in packets of `packet` bytes.
inline ns3::Ptr<ns3::PacketSink>
MakeTcpFlow(ns3::Ptr<ns3::Node> source, ns3::Ptr<ns3::Node> sink, uint16_t port, uint32_t packet, double at)
{
    const ns3::Ptr<ns3::BulkSendApplication> ftp = ns3::CreateObject<ns3::BulkSendApplication>();
    ftp->SetAttribute("Protocol", ns3::TypeIdValue(ns3::TcpSocketFactory::GetTypeId()));
    ftp->SetAttribute("Remote", ns3::AddressValue(ns3::InetSocketAddress(AddressOf(sink), port)));
    ftp->SetAttribute("SendSize", ns3::UintegerValue(SegmentSize(packet)));
    Start(ftp, source, at);
    return MakeSink(sink, port, ns3::TcpSocketFactory::GetTypeId());
}

// A flow of UDP at a constant rate in packets of `packet` bytes.
inline ns3::Ptr<ns3::PacketSink>
MakeUdpFlow(ns3::Ptr<ns3::Node> source,
            ns3::Ptr<ns3::Node> sink,
            uint16_t port,
            uint32_t packet,
            double rate,
            double at)
{
    const ns3::Ptr<ns3::UdpClient> cbr = ns3::CreateObject<ns3::UdpClient>();
    cbr->SetRemote(AddressOf(sink), port);
    cbr->SetAttribute("PacketSize", ns3::UintegerValue(packet - PPP_HEADER - IP_HEADER - UDP_HEADER));
    cbr->SetAttribute("Interval", ns3::TimeValue(ns3::Seconds(8.0 * packet / rate)));
    cbr->SetAttribute("MaxPackets", ns3::UintegerValue(UINT32_MAX));
    Start(cbr, source, at);
    return MakeSink(sink, port, ns3::UdpSocketFactory::GetTypeId());
}

#endif
