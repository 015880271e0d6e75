// Package fairlane has queue disciplines that keep a congested link fair: CHOKe and its family, RED, CoDel, PIE, CAKE and others, by the
// library libfairlane. It needs cgo, and pkg-config finds the library.
//
//	queue, err := fairlane.New("choke limit=300p", 10_000_000, seed, nil)
//	queue.Enqueue(now, &fairlane.Packet{Handle: 1, Flow: flow, Bytes: 1000})
//	packet, ok := queue.Dequeue(now)
//
// A call of C costs some 50 ns, so programs with many packets use EnqueueBurst and DequeueBurst.
package fairlane

/*
#cgo pkg-config: fairlane
#include <fairlane.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	fl_packet packet;
	uint64_t now;
	uint32_t reason;
	int32_t marked;
} told;

// The events of a call, which Go reads after it: a call back into Go would cost more than the queue.
typedef struct {
	told *events;
	size_t count, room;
	int full;
} tellings;

static void note(void *ctx, uint64_t now, const fl_packet *packet, uint32_t reason, int32_t marked) {
	tellings *all = ctx;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		told *events = realloc(all->events, room * sizeof *events);
		if (!events) {
			all->full = 1;
			return;
		}
		all->events = events;
		all->room = room;
	}
	all->events[all->count++] = (told){*packet, now, reason, marked};
}

static fl_queue *noting(const char *text, uint64_t rate, uint64_t seed, tellings *all, char *error, size_t room) {
	return fl_queue_new(text, rate, seed, note, all, error, room);
}
*/
import "C"

import (
	"errors"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Packet is a packet, or what stands for one.
type Packet struct {
	// Handle is the caller's number. No discipline looks at it.
	Handle uint64
	// Flow is that of the packet: packets with equal numbers belong together. Classify finds it.
	Flow uint64
	// Source and Destination are the hosts, for disciplines that share among hosts; 0 stands for a host of the flow.
	Source, Destination uint64
	// Label is that of CSFQ in bit/s.
	Label uint64
	// Bytes is the size on the wire, from 1 on.
	Bytes uint32
	// TOS is the TOS or traffic class byte. A mark sets its two lowest bits (CE, RFC 3168).
	TOS uint8
	// Flags is a sum of Unresponsive and numbers to come.
	Flags    uint8
	reserved uint16
}

// Unresponsive is a flag of a packet whose transport does not slow down after a loss.
const Unresponsive = C.FL_UNRESPONSIVE

// Reason is why a packet was dropped or marked; 0 is no reason.
type Reason uint32

// Purged is the reason of packets that Purge and Close find in a queue.
const Purged Reason = C.FL_REASON_PURGED

// String returns the name of a reason, such as match_victim.
func (r Reason) String() string {
	name := C.fl_reason_name(C.uint32_t(r))
	if name == nil {
		return "none"
	}
	return C.GoString(name)
}

// Event is a drop, or a mark of a packet that stays in the queue.
type Event struct {
	Packet Packet
	At     time.Duration
	Reason Reason
	Marked bool
}

// ErrDead is returned by a queue that an error of the library has ended, with the error around it.
var ErrDead = errors.New("the queue is dead")

// Queue is a queue. One goroutine at a time may use it.
type Queue struct {
	queue *C.fl_queue
	told  *C.tellings
	event func(Event)
}

// New creates a queue as text describes it, for a link of rate bit/s; 0 if that is not known. The same seed makes the same random
// decisions: where a sender could guess them, draw it from crypto/rand. After each call, event gets the drops and marks; it may be nil.
func New(text string, rate, seed uint64, event func(Event)) (*Queue, error) {
	name := C.CString(text)
	defer C.free(unsafe.Pointer(name))
	var message [400]C.char
	told := (*C.tellings)(C.calloc(1, C.sizeof_tellings))
	if told == nil {
		return nil, errors.New("no memory for a queue")
	}
	queue := C.noting(name, C.uint64_t(rate), C.uint64_t(seed), told, &message[0], C.size_t(len(message)))
	if queue == nil {
		C.free(unsafe.Pointer(told))
		return nil, errors.New(C.GoString(&message[0]))
	}
	made := &Queue{queue, told, event}
	runtime.SetFinalizer(made, func(q *Queue) { q.event = nil; q.Close() })
	return made, nil
}

// Close frees the queue. The packets in it are told with the reason Purged.
func (q *Queue) Close() {
	if q.queue == nil {
		return
	}
	C.fl_queue_free(q.queue)
	q.queue = nil
	q.tell()
	C.free(unsafe.Pointer(q.told.events))
	C.free(unsafe.Pointer(q.told))
	q.told = nil
	runtime.SetFinalizer(q, nil)
}

// tell passes the events of a call on.
func (q *Queue) tell() {
	// A closed queue tells nothing.
	if q.told == nil || q.told.count == 0 {
		return
	}
	count := int(q.told.count)
	q.told.count = 0
	if q.event == nil {
		return
	}
	// The function may use the queue, which then notes other events.
	events := append([]C.told(nil), unsafe.Slice(q.told.events, count)...)
	for i := range events {
		event := &events[i]
		packet := *(*Packet)(unsafe.Pointer(&event.packet))
		q.event(Event{packet, time.Duration(event.now), Reason(event.reason), event.marked != 0})
	}
}

func nanoseconds(now time.Duration) C.uint64_t {
	if now < 0 {
		return 0
	}
	return C.uint64_t(now)
}

func inC(packet *Packet) *C.fl_packet {
	return (*C.fl_packet)(unsafe.Pointer(packet))
}

// Enqueue offers a packet at now, the time since any moment. It returns 0 if the packet is in the queue, or the reason for which it was
// dropped.
func (q *Queue) Enqueue(now time.Duration, packet *Packet) (Reason, error) {
	reason := C.fl_enqueue(q.queue, nanoseconds(now), inC(packet))
	if reason == C.FL_DEAD {
		return 0, q.Err()
	}
	q.tell()
	return Reason(reason), nil
}

// EnqueueBurst offers packets at the same time, and returns how many the queue has taken or dropped: all, unless it is dead.
func (q *Queue) EnqueueBurst(now time.Duration, packets []Packet) int {
	if len(packets) == 0 {
		return 0
	}
	taken := C.fl_enqueue_burst(q.queue, nanoseconds(now), inC(&packets[0]), C.size_t(len(packets)))
	q.tell()
	return int(taken)
}

// Dequeue takes the next packet for the link; false if there is none, or if all are held back.
func (q *Queue) Dequeue(now time.Duration) (packet Packet, ok bool) {
	ok = C.fl_dequeue(q.queue, nanoseconds(now), inC(&packet)) == 1
	q.tell()
	return packet, ok
}

// DequeueBurst takes up to len(packets) packets at the same time, and returns how many there were.
func (q *Queue) DequeueBurst(now time.Duration, packets []Packet) int {
	if len(packets) == 0 {
		return 0
	}
	count := C.fl_dequeue_burst(q.queue, nanoseconds(now), inC(&packets[0]), C.size_t(len(packets)))
	q.tell()
	return int(count)
}

// Transmit takes the next packet once the link has sent the one before it, so packets leave at the rate of the link. Use it or Dequeue,
// not both.
func (q *Queue) Transmit(now time.Duration) (packet Packet, ok bool) {
	ok = C.fl_transmit(q.queue, nanoseconds(now), inC(&packet)) == 1
	q.tell()
	return packet, ok
}

// TransmitAt returns when to call Transmit; false if nothing can happen before the next packet comes.
func (q *Queue) TransmitAt() (time.Duration, bool) {
	defer runtime.KeepAlive(q)
	at := uint64(C.fl_transmit_at(q.queue))
	return time.Duration(min(at, math.MaxInt64)), at != math.MaxUint64
}

// ReadyAt returns when a packet may leave although Dequeue gave none; false if nothing is held back.
func (q *Queue) ReadyAt() (time.Duration, bool) {
	defer runtime.KeepAlive(q)
	at := uint64(C.fl_ready_at(q.queue))
	return time.Duration(min(at, math.MaxInt64)), at != math.MaxUint64
}

// SetRate tells the queue the rate of its link in bit/s.
func (q *Queue) SetRate(rate uint64) {
	defer runtime.KeepAlive(q)
	C.fl_link_rate(q.queue, C.uint64_t(rate))
}

// Change replaces discipline and parameters by those of text. Packets in the queue leave first.
func (q *Queue) Change(text string) error {
	defer runtime.KeepAlive(q)
	name := C.CString(text)
	defer C.free(unsafe.Pointer(name))
	var message [400]C.char
	if C.fl_change(q.queue, name, &message[0], C.size_t(len(message))) != 0 {
		return errors.New(C.GoString(&message[0]))
	}
	return nil
}

// Purge frees all packets, which are told with the reason Purged, and begins afresh. It returns how many there were.
func (q *Queue) Purge(now time.Duration) int {
	count := C.fl_purge(q.queue, nanoseconds(now))
	q.tell()
	return int(count)
}

// Len returns the packets and bytes in the queue.
func (q *Queue) Len() (packets int, bytes uint64) {
	defer runtime.KeepAlive(q)
	var status C.fl_status
	C.fl_get_status(q.queue, &status)
	return int(status.packets), uint64(status.bytes)
}

// Err returns the error that ended the queue, as an ErrDead; nil if it is alive.
func (q *Queue) Err() error {
	defer runtime.KeepAlive(q)
	if q.queue == nil {
		return ErrDead
	}
	if message := C.fl_error(q.queue); message != nil {
		return errors.Join(ErrDead, errors.New(C.GoString(message)))
	}
	return nil
}

// Classify finds flow, hosts, TOS and size of an IP packet, whose first bytes are ip, and returns false if it is none. The secret, from
// crypto/rand, keeps senders from choosing packets that fall into another's flow.
func Classify(packet *Packet, ip []byte, secret uint64) bool {
	if len(ip) == 0 {
		return false
	}
	return C.fl_classify(inC(packet), (*C.uint8_t)(unsafe.Pointer(&ip[0])), C.size_t(len(ip)), C.uint64_t(secret)) == 0
}

// Kinds returns the names of the disciplines.
func Kinds() []string {
	var kinds []string
	for i := C.size_t(0); ; i++ {
		name := C.fl_kinds(i)
		if name == nil {
			return kinds
		}
		kinds = append(kinds, C.GoString(name))
	}
}
