/*
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 */

#include "ns3/fairlane-queue-disc.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simple-net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"

#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// A packet with a flow and a TOS byte, in place of headers.
class FairlaneTestItem : public QueueDiscItem
{
  public:
    /**
     * \param number the number of the packet
     * \param flow the number of its flow
     * \param bytes its size
     * \param tos its TOS byte
     */
    FairlaneTestItem(uint32_t number, uint32_t flow, uint32_t bytes, uint8_t tos)
        : QueueDiscItem(Create<Packet>(bytes), Address(), 0),
          m_number(number),
          m_flow(flow),
          m_tos(tos)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        m_refused = (m_tos & 3) == 0;
        m_tos |= m_refused ? 0 : 3;
        return !m_refused;
    }

    bool GetUint8Value(Uint8Values, uint8_t& value) const override
    {
        value = m_tos;
        return true;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    uint32_t m_number;     //!< the number of the packet
    uint32_t m_flow;       //!< the number of its flow
    uint8_t m_tos;         //!< the TOS byte
    bool m_refused{false}; //!< it was to be marked, and cannot be
};

/**
 * \param item a packet of these tests
 * \return its number
 */
uint32_t
NumberOf(Ptr<const QueueDiscItem> item)
{
    return StaticCast<const FairlaneTestItem>(item)->m_number;
}

/**
 * \param text the discipline
 * \param stream the stream of randomness
 * \return a queue on a link of 10 Mbit/s that is ready
 */
Ptr<FairlaneQueueDisc>
MakeQueue(const std::string& text, int64_t stream = 1)
{
    auto queue = CreateObject<FairlaneQueueDisc>();
    queue->SetAttribute("Discipline", StringValue(text));
    queue->SetAttribute("LinkRate", StringValue("10Mbps"));
    queue->AssignStreams(stream);
    queue->Initialize();
    return queue;
}

/**
 * Offers packets of one flow and 1000 bytes.
 *
 * \param queue the queue
 * \param first the number of the first packet
 * \param count how many packets
 * \param tos the TOS byte
 */
void
Offer(Ptr<QueueDisc> queue, uint32_t first, uint32_t count, uint8_t tos = 0)
{
    for (uint32_t i = first; i < first + count; i++)
    {
        queue->Enqueue(Create<FairlaneTestItem>(i, 1, 1000, tos));
    }
}

/// Would catch a packet that is lost, told twice or marked against its header, under any
/// discipline.
class FairlaneEveryKindTestCase : public TestCase
{
  public:
    /**
     * \param kind the discipline
     */
    FairlaneEveryKindTestCase(const std::string& kind)
        : TestCase("each packet of " + kind + " leaves once or is dropped once"),
          m_kind(kind)
    {
    }

  private:
    void DoRun() override
    {
        m_queue = MakeQueue(m_kind);
        m_queue->TraceConnectWithoutContext("Drop",
                                            MakeCallback(&FairlaneEveryKindTestCase::Ended, this));
        m_ends.assign(COUNT, 0);
        for (uint32_t i = 0; i < COUNT; i++)
        {
            Simulator::Schedule(MicroSeconds(400 * i), &FairlaneEveryKindTestCase::Arrive, this, i);
        }
        Simulator::Schedule(MicroSeconds(100), &FairlaneEveryKindTestCase::Leave, this);
        Simulator::Stop(Seconds(100));
        Simulator::Run();

        for (uint32_t i = 0; i < COUNT; i++)
        {
            NS_TEST_ASSERT_MSG_EQ(m_ends[i], 1, "packet " << i << " of " << m_kind);
            NS_TEST_ASSERT_MSG_EQ(m_items[i]->m_refused,
                                  false,
                                  "packet " << i << " cannot be marked");
        }
        const auto& stats = m_queue->GetStats();
        NS_TEST_ASSERT_MSG_EQ(m_queue->GetNPackets(), 0, "packets are left");
        NS_TEST_ASSERT_MSG_EQ(m_queue->GetNBytes(), 0, "bytes are left");
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalReceivedPackets, COUNT, "arrivals");
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalSentPackets + stats.nTotalDroppedPackets, COUNT, "ends");
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalSentPackets, m_sent, "departures");
        Simulator::Destroy();
        m_queue->Dispose();
        m_queue = nullptr;
        m_items.clear();
    }

    /**
     * Offers packet `i`: sizes from 40 to 1479 bytes, 23 flows, all TOS bytes.
     *
     * \param i the number
     */
    void Arrive(uint32_t i)
    {
        m_items.push_back(Create<FairlaneTestItem>(i, i * 7 % 23, 40 + i * 97 % 1440, i % 256));
        m_queue->Enqueue(m_items.back());
    }

    /// Lets a packet leave each 800 microseconds, so that the queue overflows or grows; one of
    /// three is peeked at before.
    void Leave()
    {
        if (m_items.size() % 3 == 0)
        {
            m_queue->Peek();
        }
        if (Ptr<QueueDiscItem> item = m_queue->Dequeue())
        {
            m_sent++;
            Ended(item);
        }
        if (m_items.size() < COUNT || m_queue->GetNPackets() > 0)
        {
            Simulator::Schedule(MicroSeconds(800), &FairlaneEveryKindTestCase::Leave, this);
        }
    }

    /**
     * Notes the end of a packet.
     *
     * \param item the packet
     */
    void Ended(Ptr<const QueueDiscItem> item)
    {
        m_ends[NumberOf(item)]++;
    }

    static constexpr uint32_t COUNT = 2000;     //!< the packets
    std::string m_kind;                         //!< the discipline
    Ptr<FairlaneQueueDisc> m_queue;             //!< the queue
    std::vector<Ptr<FairlaneTestItem>> m_items; //!< the packets that have come
    std::vector<uint32_t> m_ends;               //!< how often each has left or was dropped
    uint32_t m_sent{0};                         //!< the packets that have left
};

/// Would catch a limit that is not that of the text or of MaxSize, and drops without their reason.
class FairlaneLimitTestCase : public TestCase
{
  public:
    FairlaneLimitTestCase()
        : TestCase("a queue holds its limit")
    {
    }

  private:
    void DoRun() override
    {
        auto queue = MakeQueue("droptail,limit=10p");
        Offer(queue, 0, 15);
        NS_TEST_ASSERT_MSG_EQ(queue->GetNPackets(), 10, "the limit");
        NS_TEST_ASSERT_MSG_EQ(queue->GetNBytes(), 10000, "ten times 1000 bytes");
        NS_TEST_ASSERT_MSG_EQ(queue->GetMaxSize(), QueueSize("10p"), "MaxSize is the limit");
        NS_TEST_ASSERT_MSG_EQ(queue->GetCurrentSize(), QueueSize("10p"), "the size");
        const auto& stats = queue->GetStats();
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalDroppedPacketsBeforeEnqueue, 5, "the others");
        NS_TEST_ASSERT_MSG_EQ(stats.GetNDroppedPackets("limit"), 5, "the reason");
        for (uint32_t i = 0; i < 10; i++)
        {
            NS_TEST_ASSERT_MSG_EQ(NumberOf(queue->Dequeue()), i, "the first one leaves first");
        }
        NS_TEST_ASSERT_MSG_EQ(bool(queue->Dequeue()), false, "it is empty");
        queue->Dispose();

        auto limited = CreateObject<FairlaneQueueDisc>();
        limited->SetAttribute("MaxSize", StringValue("12000B"));
        limited->SetAttribute("Discipline", StringValue("droptail"));
        limited->Initialize();
        Offer(limited, 0, 15);
        NS_TEST_ASSERT_MSG_EQ(limited->GetNPackets(), 12, "MaxSize");
        limited->Dispose();

        // The paper of BARE has 320 kB.
        auto bare = MakeQueue("bare");
        NS_TEST_ASSERT_MSG_EQ(bare->GetMaxSize(), QueueSize("320000B"), "the default");
        bare->Dispose();
    }
};

/**
 * Would catch a match whose victim stays, and drops in the wrong place. The average is the queue
 * (weight 1) and all packets have one flow. Each that finds 6 packets, above `min`, is dropped with
 * one of them, and the next one finds 5 and stays (Pan, Prabhakar, Psounis: CHOKe, INFOCOM 2000,
 * section II-A: packets are compared above min_th).
 */
class FairlaneMatchTestCase : public TestCase
{
  public:
    FairlaneMatchTestCase()
        : TestCase("CHOKe drops an arrival and a packet of its flow")
    {
    }

  private:
    void DoRun() override
    {
        auto queue = MakeQueue("choke,limit=100p,min=5p,max=90p,weight=1");
        Offer(queue, 0, 6 + 2 * 20);
        const auto& stats = queue->GetStats();
        NS_TEST_ASSERT_MSG_EQ(queue->GetNPackets(), 6, "the queue");
        NS_TEST_ASSERT_MSG_EQ(stats.GetNDroppedPackets("match_arrival"), 20, "arrivals");
        NS_TEST_ASSERT_MSG_EQ(stats.GetNDroppedPackets("match_victim"), 20, "victims");
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalDroppedPacketsBeforeEnqueue,
                              20,
                              "an arrival was not in the queue");
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalDroppedPacketsAfterDequeue, 20, "a victim was");
        NS_TEST_ASSERT_MSG_EQ(queue->GetAverage(), 5, "the last packet found 5");

        // One that was peeked at has left the library and cannot be a victim.
        const uint32_t peeked = NumberOf(queue->Peek());
        NS_TEST_ASSERT_MSG_EQ(queue->GetNPackets(), 6, "a peeked packet counts");
        Offer(queue, 100, 2);
        NS_TEST_ASSERT_MSG_EQ(queue->GetStats().GetNDroppedPackets("match_arrival"),
                              21,
                              "the second");
        NS_TEST_ASSERT_MSG_EQ(queue->GetNPackets(), 6, "5 in the library, and the peeked one");
        NS_TEST_ASSERT_MSG_EQ(NumberOf(queue->Dequeue()), peeked, "it leaves");
        NS_TEST_ASSERT_MSG_EQ(queue->GetNPackets(), 5, "the others");
        queue->Dispose();
    }
};

/**
 * Would catch marks that headers do not get. The average is the queue (weight 1). RED spares a
 * packet that finds at most one, and signals each that finds 2, `max`, or more.
 */
class FairlaneMarkTestCase : public TestCase
{
  public:
    FairlaneMarkTestCase()
        : TestCase("RED marks what can be marked and drops the rest")
    {
    }

  private:
    void DoRun() override
    {
        const std::string text = "red,limit=100p,min=1p,max=2p,weight=1,ecn=true";
        auto queue = MakeQueue(text);
        Offer(queue, 0, 20, 2);
        const auto& stats = queue->GetStats();
        NS_TEST_ASSERT_MSG_EQ(stats.nTotalDroppedPackets, 0, "no drop");
        NS_TEST_ASSERT_MSG_EQ(stats.GetNMarkedPackets("forced"), 18, "all but two");
        for (uint32_t i = 0; i < 20; i++)
        {
            auto item = StaticCast<FairlaneTestItem>(queue->Dequeue());
            NS_TEST_ASSERT_MSG_EQ(item->m_number, i, "the first one leaves first");
            NS_TEST_ASSERT_MSG_EQ(+item->m_tos, (i < 2 ? 2 : 3), "the mark of packet " << i);
        }
        queue->Dispose();

        auto dropping = MakeQueue(text);
        Offer(dropping, 0, 20);
        NS_TEST_ASSERT_MSG_EQ(dropping->GetNPackets(), 2, "nothing can be marked");
        NS_TEST_ASSERT_MSG_EQ(dropping->GetStats().GetNDroppedPackets("forced"), 18, "all but two");
        dropping->Dispose();
    }
};

/// Would catch a queue that nobody asks again: at 1 Mbit/s a packet of 1250 bytes leaves each 10
/// ms.
class FairlaneShaperTestCase : public TestCase
{
  public:
    FairlaneShaperTestCase()
        : TestCase("a packet that is held back leaves at its time")
    {
    }

  private:
    void DoRun() override
    {
        m_queue = MakeQueue("cake,bandwidth=1mbit");
        m_queue->SetSendCallback(
            [this](Ptr<QueueDiscItem>) { m_times.push_back(Simulator::Now()); });
        for (uint32_t i = 0; i < 8; i++)
        {
            Simulator::Schedule(MicroSeconds(i), &FairlaneShaperTestCase::Arrive, this, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_times.size(), 8, "all leave");
        for (std::size_t i = 0; i < m_times.size(); i++)
        {
            NS_TEST_ASSERT_MSG_EQ_TOL(m_times[i],
                                      MilliSeconds(10 * i),
                                      MicroSeconds(1),
                                      "packet " << i);
        }
        Simulator::Destroy();
        m_queue->Dispose();
        m_queue = nullptr;
    }

    /**
     * \param i the number of the packet
     */
    void Arrive(uint32_t i)
    {
        m_queue->Enqueue(Create<FairlaneTestItem>(i, 1, 1250, 0));
        m_queue->Run();
    }

    Ptr<FairlaneQueueDisc> m_queue; //!< the queue
    std::vector<Time> m_times;      //!< when packets have left
};

/// Would catch decisions that are not those of the stream.
class FairlaneStreamTestCase : public TestCase
{
  public:
    FairlaneStreamTestCase()
        : TestCase("a stream makes the same decisions")
    {
    }

  private:
    /**
     * \param stream the stream
     * \return which of 1000 packets of 10 flows CHOKe leaves in the queue
     */
    std::vector<uint32_t> Decide(int64_t stream)
    {
        auto queue = MakeQueue("choke,limit=100p,min=5p,max=90p", stream);
        for (uint32_t i = 0; i < 1000; i++)
        {
            queue->Enqueue(Create<FairlaneTestItem>(i, i % 10, 1000, 0));
        }
        std::vector<uint32_t> left;
        while (auto item = queue->Dequeue())
        {
            left.push_back(NumberOf(item));
        }
        queue->Dispose();
        return left;
    }

    void DoRun() override
    {
        const auto first = Decide(1);
        NS_TEST_ASSERT_MSG_EQ((first == Decide(1)), true, "the same stream");
        NS_TEST_ASSERT_MSG_EQ((first == Decide(2)), false, "another stream");
    }
};

/// Would catch text that is not read, and a change that loses packets.
class FairlaneTextTestCase : public TestCase
{
  public:
    FairlaneTextTestCase()
        : TestCase("the text of a discipline")
    {
    }

  private:
    void DoRun() override
    {
        const DataRate rate("10Mbps");
        std::string answer;
        NS_TEST_ASSERT_MSG_EQ(FairlaneQueueDisc::Explain("choke,limit=7p", rate, answer),
                              true,
                              "right");
        NS_TEST_ASSERT_MSG_NE(answer.find("limit=7p"), std::string::npos, answer);
        NS_TEST_ASSERT_MSG_EQ(FairlaneQueueDisc::Explain("chok", rate, answer), false, "wrong");
        NS_TEST_ASSERT_MSG_NE(answer.find("did you mean \"choke\"?"), std::string::npos, answer);

        auto queue = MakeQueue("droptail,limit=5p");
        Offer(queue, 0, 6);
        queue->SetAttribute("Discipline", StringValue("droptail,limit=8p"));
        NS_TEST_ASSERT_MSG_EQ(queue->GetMaxSize(), QueueSize("8p"), "the new limit");
        Offer(queue, 5, 2);
        for (uint32_t i = 0; i < 7; i++)
        {
            NS_TEST_ASSERT_MSG_EQ(NumberOf(queue->Dequeue()), i, "the first one leaves first");
        }
        queue->Dispose();
    }
};

/// Would catch a rate that is not that of the device.
class FairlaneRateTestCase : public TestCase
{
  public:
    FairlaneRateTestCase()
        : TestCase("the rate is that of the device")
    {
    }

  private:
    void DoRun() override
    {
        auto device = CreateObject<SimpleNetDevice>();
        device->SetAttribute("DataRate", StringValue("3Mbps"));
        auto interface = CreateObject<NetDeviceQueueInterface>();
        device->AggregateObject(interface);
        auto queue = CreateObject<FairlaneQueueDisc>();
        queue->SetNetDeviceQueueInterface(interface);
        queue->Initialize();
        NS_TEST_ASSERT_MSG_EQ(queue->GetLinkRate(), DataRate("3Mbps"), "the rate");
        queue->SetAttribute("LinkRate", StringValue("2Mbps"));
        NS_TEST_ASSERT_MSG_EQ(queue->GetLinkRate(), DataRate("2Mbps"), "another rate");
        queue->Dispose();
        device->Dispose();
        Simulator::Destroy();
    }
};

/// The tests of the module.
class FairlaneTestSuite : public TestSuite
{
  public:
    FairlaneTestSuite()
        : TestSuite("fairlane")
    {
        for (std::size_t i = 0; fl_kinds(i); i++)
        {
            AddTestCase(new FairlaneEveryKindTestCase(fl_kinds(i)));
        }
        AddTestCase(new FairlaneLimitTestCase);
        AddTestCase(new FairlaneMatchTestCase);
        AddTestCase(new FairlaneMarkTestCase);
        AddTestCase(new FairlaneShaperTestCase);
        AddTestCase(new FairlaneStreamTestCase);
        AddTestCase(new FairlaneTextTestCase);
        AddTestCase(new FairlaneRateTestCase);
    }
};

FairlaneTestSuite g_fairlaneTestSuite; //!< registers the tests

} // namespace
