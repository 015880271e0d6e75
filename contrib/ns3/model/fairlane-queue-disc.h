/*
 * Fairlane's queue disciplines in ns-3.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 */

#ifndef FAIRLANE_QUEUE_DISC_H
#define FAIRLANE_QUEUE_DISC_H

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/queue-disc.h"
#include "ns3/queue-size.h"
#include "ns3/random-variable-stream.h"

#include <cstdint>
#include <fairlane.h>
#include <string>
#include <vector>

namespace ns3
{

class FairlaneStore;

/**
 * \ingroup traffic-control
 *
 * Any discipline of the library libfairlane, described by text: "choke,limit=300p".
 *
 * The library decides on packets, and this class holds them in one internal queue, out of which it
 * takes any. A packet that the library refuses is told as dropped before enqueue, one that it
 * removes later as dropped after dequeue, both with the library's name of the reason: "limit",
 * "match_victim" …
 *
 * Packet filters are optional. The first one that knows a packet gives the number of its flow;
 * without any, a flow is that of QueueDiscItem::Hash.
 *
 * A discipline may hold packets back (cake with a bandwidth). Then the class calls Run at the time
 * when a packet may leave, provided that it is the root of its device.
 */
class FairlaneQueueDisc : public QueueDisc
{
  public:
    /**
     * \brief Get the type ID.
     * \return the object TypeId
     */
    static TypeId GetTypeId();

    FairlaneQueueDisc();
    ~FairlaneQueueDisc() override;

    /**
     * Sets the discipline and its parameters, between spaces or commas. If the simulation has
     * begun, packets in the queue leave first, as the discipline before has it. A mistake in the
     * text ends the program with its explanation.
     *
     * \param text the description
     */
    void SetDiscipline(std::string text);

    /**
     * \return the description of the discipline, without the limit of MaxSize
     */
    std::string GetDiscipline() const;

    /**
     * Sets the rate of the link, at any time.
     *
     * \param rate the rate; 0 stands for the attribute DataRate of the device, or of its channel
     */
    void SetLinkRate(DataRate rate);

    /**
     * \return the rate of the link that the discipline goes by
     */
    DataRate GetLinkRate() const;

    /**
     * Sets the parameter `limit` of the discipline.
     *
     * \param size the limit; 0 stands for that of the description, or else the default of the
     * discipline
     */
    void SetLimit(QueueSize size);

    /**
     * \return the limit that is used; before the simulation begins, the one that was set
     */
    QueueSize GetLimit() const;

    /**
     * Assigns a stream to the discipline's randomness. Its seed is drawn when the simulation
     * begins.
     *
     * \param stream the number of the stream
     * \return the number of streams that were assigned: 1
     */
    int64_t AssignStreams(int64_t stream);

    /**
     * \return the average queue that the discipline goes by, in packets or bytes; NaN if it keeps
     * none
     */
    double GetAverage() const;

    /**
     * \return the probability of a drop or mark; NaN where no single number holds
     */
    double GetProbability() const;

    /**
     * Tells what a description means.
     *
     * \param text the description
     * \param rate the rate of the link
     * \param answer becomes all parameters with their values and meanings, or the mistake in the
     * text
     * \return true if the text is right
     */
    static bool Explain(const std::string& text, DataRate rate, std::string& answer);

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /// A drop or mark that the library has told during a call.
    struct Event
    {
        uint64_t handle; //!< the packet
        uint32_t reason; //!< the number of the reason
        bool marked;     //!< a mark, not a drop
    };

    /**
     * Notes an event; the library calls it, and nothing of the queue may be called meanwhile.
     *
     * \param ctx this object
     * \param now the time
     * \param packet the packet
     * \param reason the number of the reason
     * \param marked 1 for a mark, 0 for a drop
     */
    static void Note(void* ctx,
                     uint64_t now,
                     const fl_packet* packet,
                     uint32_t reason,
                     int32_t marked) noexcept;

    /**
     * Tells the marks and drops of a call to the base class, in their order.
     *
     * \param refused the packet that the call has dropped instead of taking it; or null
     */
    void TellEvents(Ptr<QueueDiscItem> refused);

    /**
     * \return the description of the discipline with the limit of MaxSize
     */
    std::string GetText() const;

    /// Applies the description to a simulation that has begun.
    void Change();

    /// Takes MaxSize from the discipline.
    void ReadLimit();

    /**
     * \return the rate of the device or its channel; 0 if there is none
     */
    DataRate FindLinkRate() const;

    /// Calls Run at the time when a packet may leave that is held back now.
    void ScheduleRun();

    /// Ends the program with the error of the library.
    [[noreturn]] void Die() const;

    std::string m_discipline;        //!< the description
    DataRate m_linkRate;             //!< the rate of the link
    QueueSize m_limit;               //!< the limit that was set; 0: none
    Ptr<UniformRandomVariable> m_uv; //!< the stream of the seed
    fl_queue* m_queue{nullptr};      //!< the queue of the library
    Ptr<FairlaneStore> m_store;      //!< the packets
    std::vector<Event> m_events;     //!< the events of a call
    EventId m_run;                   //!< the next Run for a packet that is held back
};

} // namespace ns3

#endif /* FAIRLANE_QUEUE_DISC_H */
