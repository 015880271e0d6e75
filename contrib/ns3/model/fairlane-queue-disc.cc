/*
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 */

#include "fairlane-queue-disc.h"

#include "ns3/abort.h"
#include "ns3/channel.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/net-device.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <unordered_map>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FairlaneQueueDisc");

namespace
{

/// The number of UDP among the protocols of IP.
constexpr uint8_t PROTOCOL_UDP = 17;

/**
 * \param item a packet
 * \return the packet's handle: its place in memory, where it stays while the store holds it
 */
uint64_t
HandleOf(Ptr<const QueueDiscItem> item)
{
    return reinterpret_cast<uintptr_t>(PeekPointer(item));
}

/**
 * Hashes the address of a host: FNV-1a, and never 0, which stands for an unknown host.
 *
 * \param bytes the address
 * \param count its length
 * \return the number of the host
 */
uint64_t
HostOf(const uint8_t* bytes, std::size_t count)
{
    uint64_t hash = 14695981039346656037ULL;
    for (std::size_t i = 0; i < count; i++)
    {
        hash = (hash ^ bytes[i]) * 1099511628211ULL;
    }
    return hash ? hash : 1;
}

/**
 * Fills in what only a header of IP tells: the hosts, and whether UDP sends.
 *
 * \param item a packet
 * \param packet the packet of the library
 */
void
ReadHeader(Ptr<const QueueDiscItem> item, fl_packet& packet)
{
    uint8_t source[16];
    uint8_t destination[16];
    uint8_t protocol = 0;
    std::size_t count = 0;
    if (auto ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item))
    {
        count = 4;
        ipv4->GetHeader().GetSource().Serialize(source);
        ipv4->GetHeader().GetDestination().Serialize(destination);
        protocol = ipv4->GetHeader().GetProtocol();
    }
    else if (auto ipv6 = DynamicCast<const Ipv6QueueDiscItem>(item))
    {
        count = 16;
        ipv6->GetHeader().GetSource().Serialize(source);
        ipv6->GetHeader().GetDestination().Serialize(destination);
        protocol = ipv6->GetHeader().GetNextHeader();
    }
    else
    {
        return;
    }
    packet.source = HostOf(source, count);
    packet.destination = HostOf(destination, count);
    packet.flags = protocol == PROTOCOL_UDP ? FL_UNRESPONSIVE : 0;
}

} // namespace

/// The packets of a queue, in the order of their arrival; each can be taken out.
class FairlaneStore : public Queue<QueueDiscItem>
{
  public:
    /**
     * \brief Get the type ID.
     * \return the object TypeId
     */
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::FairlaneStore")
                                .SetParent<Queue<QueueDiscItem>>()
                                .SetGroupName("TrafficControl")
                                .AddConstructor<FairlaneStore>();
        return tid;
    }

    FairlaneStore()
    {
        // The discipline has the limit.
        SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, std::numeric_limits<uint32_t>::max()));
    }

    bool Enqueue(Ptr<QueueDiscItem> item) override
    {
        Iterator place;
        if (!DoEnqueue(GetContainer().end(), item, place))
        {
            return false;
        }
        return m_places.emplace(HandleOf(item), place).second;
    }

    Ptr<QueueDiscItem> Dequeue() override
    {
        return IsEmpty() ? nullptr : Take(HandleOf(GetContainer().front()));
    }

    Ptr<QueueDiscItem> Remove() override
    {
        if (IsEmpty())
        {
            return nullptr;
        }
        m_places.erase(HandleOf(GetContainer().front()));
        return DoRemove(GetContainer().begin());
    }

    Ptr<const QueueDiscItem> Peek() const override
    {
        return DoPeek(GetContainer().begin());
    }

    /**
     * \param handle the handle of a packet
     * \return the packet; null if it is not here
     */
    Ptr<QueueDiscItem> Find(uint64_t handle) const
    {
        auto found = m_places.find(handle);
        return found == m_places.end() ? nullptr : *found->second;
    }

    /**
     * \param handle the handle of a packet
     * \return the packet, which is no longer here; null if it was not
     */
    Ptr<QueueDiscItem> Take(uint64_t handle)
    {
        auto found = m_places.find(handle);
        if (found == m_places.end())
        {
            return nullptr;
        }
        auto place = found->second;
        m_places.erase(found);
        return DoDequeue(place);
    }

  protected:
    void DoDispose() override
    {
        m_places.clear();
        Queue<QueueDiscItem>::DoDispose();
    }

  private:
    std::unordered_map<uint64_t, Iterator> m_places; //!< the places of the packets
};

NS_OBJECT_ENSURE_REGISTERED(FairlaneStore);
NS_OBJECT_ENSURE_REGISTERED(FairlaneQueueDisc);

TypeId
FairlaneQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FairlaneQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("TrafficControl")
            .AddConstructor<FairlaneQueueDisc>()
            .AddAttribute(
                "Discipline",
                "The discipline and its parameters, between spaces or commas: choke,limit=300p",
                StringValue("choke"),
                MakeStringAccessor(&FairlaneQueueDisc::SetDiscipline,
                                   &FairlaneQueueDisc::GetDiscipline),
                MakeStringChecker())
            .AddAttribute("LinkRate",
                          "The rate of the link; 0 stands for that of the device or its channel",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&FairlaneQueueDisc::SetLinkRate,
                                               &FairlaneQueueDisc::GetLinkRate),
                          MakeDataRateChecker())
            .AddAttribute(
                "MaxSize",
                "The discipline's parameter limit; 0p stands for that of Discipline, or else its "
                "default",
                QueueSizeValue(QueueSize("0p")),
                MakeQueueSizeAccessor(&FairlaneQueueDisc::SetLimit, &FairlaneQueueDisc::GetLimit),
                MakeQueueSizeChecker());
    return tid;
}

FairlaneQueueDisc::FairlaneQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES),
      m_limit("0p"),
      m_uv(CreateObject<UniformRandomVariable>())
{
    NS_LOG_FUNCTION(this);
}

FairlaneQueueDisc::~FairlaneQueueDisc()
{
    NS_LOG_FUNCTION(this);
    fl_queue_free(m_queue);
}

void
FairlaneQueueDisc::DoDispose()
{
    NS_LOG_FUNCTION(this);
    m_run.Cancel();
    fl_queue_free(m_queue);
    m_queue = nullptr;
    m_events.clear();
    m_store = nullptr;
    m_uv = nullptr;
    QueueDisc::DoDispose();
}

void
FairlaneQueueDisc::SetDiscipline(std::string text)
{
    NS_LOG_FUNCTION(this << text);
    m_discipline = text;
    Change();
}

std::string
FairlaneQueueDisc::GetDiscipline() const
{
    return m_discipline;
}

void
FairlaneQueueDisc::SetLinkRate(DataRate rate)
{
    NS_LOG_FUNCTION(this << rate);
    m_linkRate = rate;
    if (m_queue)
    {
        m_linkRate = rate.GetBitRate() ? rate : FindLinkRate();
        fl_link_rate(m_queue, m_linkRate.GetBitRate());
    }
}

DataRate
FairlaneQueueDisc::GetLinkRate() const
{
    return m_linkRate;
}

void
FairlaneQueueDisc::SetLimit(QueueSize size)
{
    NS_LOG_FUNCTION(this << size);
    m_limit = size;
    SetMaxSize(size);
    Change();
}

QueueSize
FairlaneQueueDisc::GetLimit() const
{
    return m_queue ? GetMaxSize() : m_limit;
}

int64_t
FairlaneQueueDisc::AssignStreams(int64_t stream)
{
    NS_LOG_FUNCTION(this << stream);
    m_uv->SetStream(stream);
    return 1;
}

double
FairlaneQueueDisc::GetAverage() const
{
    fl_status status;
    return fl_get_status(m_queue, &status) ? std::nan("") : status.average;
}

double
FairlaneQueueDisc::GetProbability() const
{
    fl_status status;
    return fl_get_status(m_queue, &status) ? std::nan("") : status.probability;
}

bool
FairlaneQueueDisc::Explain(const std::string& text, DataRate rate, std::string& answer)
{
    answer.assign(1000, '\0');
    int64_t length = fl_explain(text.c_str(), rate.GetBitRate(), &answer[0], answer.size());
    if (length >= static_cast<int64_t>(answer.size()))
    {
        answer.assign(length + 1, '\0');
        length = fl_explain(text.c_str(), rate.GetBitRate(), &answer[0], answer.size());
    }
    answer.resize(std::min(answer.size(), answer.find('\0')));
    return length >= 0;
}

std::string
FairlaneQueueDisc::GetText() const
{
    if (m_limit.GetValue() == 0)
    {
        return m_discipline;
    }
    const char unit = m_limit.GetUnit() == QueueSizeUnit::PACKETS ? 'p' : 'b';
    return m_discipline + ",limit=" + std::to_string(m_limit.GetValue()) + unit;
}

void
FairlaneQueueDisc::Change()
{
    if (!m_queue)
    {
        return;
    }
    char error[500];
    if (fl_change(m_queue, GetText().c_str(), error, sizeof error))
    {
        NS_FATAL_ERROR("FairlaneQueueDisc, Discipline \"" << GetText() << "\": " << error);
    }
    ReadLimit();
}

void
FairlaneQueueDisc::ReadLimit()
{
    std::string parameters;
    Explain(GetText(), m_linkRate, parameters);
    const std::string key = "\nlimit=";
    const auto at = parameters.find(key);
    double value = 0;
    std::size_t digits = 0;
    if (at != std::string::npos)
    {
        const std::string text = parameters.substr(at + key.size(), 30);
        value = std::stod(text, &digits);
        switch (text[digits])
        {
        case 'k':
            value *= 1e3;
            break;
        case 'm':
            value *= 1e6;
            break;
        case 'g':
            value *= 1e9;
            break;
        }
        const auto unit = text[digits] == 'p' ? QueueSizeUnit::PACKETS : QueueSizeUnit::BYTES;
        const double most = std::numeric_limits<uint32_t>::max();
        SetMaxSize(QueueSize(unit, static_cast<uint32_t>(std::min(std::round(value), most))));
    }
}

DataRate
FairlaneQueueDisc::FindLinkRate() const
{
    DataRateValue rate;
    Ptr<NetDeviceQueueInterface> interface = GetNetDeviceQueueInterface();
    Ptr<NetDevice> device = interface ? interface->GetObject<NetDevice>() : nullptr;
    if (device && device->GetAttributeFailSafe("DataRate", rate))
    {
        return rate.Get();
    }
    Ptr<Channel> channel = device ? device->GetChannel() : nullptr;
    return channel && channel->GetAttributeFailSafe("DataRate", rate) ? rate.Get() : DataRate(0);
}

bool
FairlaneQueueDisc::CheckConfig()
{
    NS_LOG_FUNCTION(this);
    if (GetNQueueDiscClasses() > 0)
    {
        NS_LOG_ERROR("FairlaneQueueDisc cannot have classes");
        return false;
    }
    if (GetNInternalQueues() > 0)
    {
        NS_LOG_ERROR("FairlaneQueueDisc makes its internal queue itself");
        return false;
    }
    m_store = CreateObject<FairlaneStore>();
    AddInternalQueue(m_store);
    return true;
}

void
FairlaneQueueDisc::InitializeParams()
{
    NS_LOG_FUNCTION(this);
    if (m_linkRate.GetBitRate() == 0)
    {
        m_linkRate = FindLinkRate();
    }
    const uint32_t most = std::numeric_limits<uint32_t>::max();
    const uint64_t high = m_uv->GetInteger(0, most);
    const uint64_t seed = high << 32 | m_uv->GetInteger(0, most);
    char error[500];
    m_queue = fl_queue_new(GetText().c_str(),
                           m_linkRate.GetBitRate(),
                           seed,
                           Note,
                           this,
                           error,
                           sizeof error);
    if (!m_queue)
    {
        NS_FATAL_ERROR("FairlaneQueueDisc, Discipline \"" << GetText() << "\": " << error);
    }
    ReadLimit();
}

void
FairlaneQueueDisc::Die() const
{
    const char* error = fl_error(m_queue);
    NS_FATAL_ERROR("FairlaneQueueDisc: " << (error ? error : "it was not initialized"));
}

void
FairlaneQueueDisc::Note(void* ctx,
                        uint64_t,
                        const fl_packet* packet,
                        uint32_t reason,
                        int32_t marked) noexcept
{
    static_cast<FairlaneQueueDisc*>(ctx)->m_events.push_back({packet->handle, reason, marked != 0});
}

void
FairlaneQueueDisc::TellEvents(Ptr<QueueDiscItem> refused)
{
    // A trace may call this object, and so the library, which then has other events.
    std::vector<Event> events;
    events.swap(m_events);
    for (const auto& event : events)
    {
        const char* reason = fl_reason_name(event.reason);
        if (refused && !event.marked && event.handle == HandleOf(refused))
        {
            DropBeforeEnqueue(refused, reason);
            continue;
        }
        Ptr<QueueDiscItem> item =
            event.marked ? m_store->Find(event.handle) : m_store->Take(event.handle);
        if (item && event.marked)
        {
            Mark(item, reason);
        }
        else if (item)
        {
            DropAfterDequeue(item, reason);
        }
    }
    // Its memory serves the next call.
    if (m_events.empty())
    {
        events.clear();
        events.swap(m_events);
    }
}

bool
FairlaneQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    NS_LOG_FUNCTION(this << item);
    fl_packet packet{};
    packet.handle = HandleOf(item);
    packet.bytes = item->GetSize();
    item->GetUint8Value(QueueItem::IP_DSFIELD, packet.tos);
    const int32_t class_ = Classify(item);
    packet.flow =
        class_ == PacketFilter::PF_NO_MATCH ? item->Hash() : static_cast<uint32_t>(class_);
    ReadHeader(item, packet);

    const int32_t answer = fl_enqueue(m_queue, Simulator::Now().GetNanoSeconds(), &packet);
    if (answer == FL_DEAD)
    {
        Die();
    }
    // The store has what the library has before traces are called.
    const bool taken = answer == 0 && m_store->Enqueue(item);
    TellEvents(taken ? nullptr : item);
    return taken;
}

Ptr<QueueDiscItem>
FairlaneQueueDisc::DoDequeue()
{
    NS_LOG_FUNCTION(this);
    fl_packet packet;
    const int32_t answer = fl_dequeue(m_queue, Simulator::Now().GetNanoSeconds(), &packet);
    if (answer == FL_DEAD)
    {
        Die();
    }
    TellEvents(nullptr);
    if (answer)
    {
        return m_store->Take(packet.handle);
    }
    ScheduleRun();
    return nullptr;
}

void
FairlaneQueueDisc::ScheduleRun()
{
    const uint64_t ready = fl_ready_at(m_queue);
    if (ready == std::numeric_limits<uint64_t>::max() || !GetSendCallback())
    {
        return;
    }
    // At least a nanosecond: a discipline that holds a packet back until now would stop time.
    const uint64_t now = Simulator::Now().GetNanoSeconds();
    m_run.Cancel();
    m_run = Simulator::Schedule(NanoSeconds(std::max(ready, now + 1) - now), &QueueDisc::Run, this);
}

} // namespace ns3
