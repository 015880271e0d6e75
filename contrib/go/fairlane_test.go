package fairlane

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// Would catch a packet whose fields are at other places than in C.
func TestAPacketIsThatOfC(t *testing.T) {
	if unsafe.Sizeof(Packet{}) != 48 || unsafe.Offsetof(Packet{}.Bytes) != 40 || unsafe.Offsetof(Packet{}.TOS) != 44 {
		t.Error("another layout")
	}
}

// Would catch a handle that is lost or told twice, under any discipline.
func TestEveryHandleComesBackOnce(t *testing.T) {
	kinds := Kinds()
	if len(kinds) < 42 {
		t.Fatal(kinds)
	}
	for _, kind := range kinds {
		back := make([]int, 3001)
		queue, err := New(kind, 1_000_000, 1, func(event Event) {
			if !event.Marked {
				back[event.Packet.Handle]++
			}
		})
		if err != nil {
			t.Fatal(kind, err)
		}
		var now time.Duration
		var out [8]Packet
		for handle := 1; handle <= 3000; handle++ {
			now += time.Millisecond
			packet := Packet{Handle: uint64(handle), Flow: uint64(handle % 7), Bytes: 1000, TOS: uint8(handle % 256)}
			if _, err := queue.Enqueue(now, &packet); err != nil {
				t.Fatal(kind, err)
			}
			if handle%16 == 0 {
				for _, packet := range out[:queue.DequeueBurst(now, out[:])] {
					back[packet.Handle]++
				}
			}
		}
		queue.Close()
		for handle, times := range back {
			if handle > 0 && times != 1 {
				t.Fatalf("%s: handle %d came back %d times", kind, handle, times)
			}
		}
	}
}

// By hand: a queue of two packets has room for two. Would catch reasons, events and times that are others'.
func TestAFullQueueDrops(t *testing.T) {
	var events []Event
	queue, err := New("droptail limit=2p", 0, 1, func(event Event) { events = append(events, event) })
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	for handle, expected := range []Reason{0, 0, 1} {
		reason, err := queue.Enqueue(7*time.Second, &Packet{Handle: uint64(handle), Bytes: 100})
		if reason != expected || err != nil {
			t.Fatal(handle, reason, err)
		}
	}
	if len(events) != 1 || events[0].Packet.Handle != 2 || events[0].Reason.String() != "limit" || events[0].At != 7*time.Second {
		t.Fatal(events)
	}
	if packets, bytes := queue.Len(); packets != 2 || bytes != 200 {
		t.Fatal(packets, bytes)
	}
	if err := queue.Change("droptail limit=1p"); err != nil {
		t.Fatal(err)
	}
	if packet, ok := queue.Dequeue(8 * time.Second); !ok || packet.Handle != 0 {
		t.Fatal(packet, ok)
	}
	if queue.Purge(9*time.Second) != 1 || events[1].Reason != Purged {
		t.Fatal(events)
	}
	if _, held := queue.ReadyAt(); held {
		t.Fatal("held")
	}
}

// Would catch mistakes without a text, and a closed queue that crashes.
func TestMistakesAreErrors(t *testing.T) {
	if _, err := New("chok", 0, 1, nil); err == nil || !strings.Contains(err.Error(), "did you mean \"choke\"?") {
		t.Fatal(err)
	}
	queue, _ := New("droptail", 0, 1, nil)
	if err := queue.Change("choke max=x"); err == nil {
		t.Fatal("no error")
	}
	queue.Close()
	queue.Close()
	if _, err := queue.Enqueue(0, &Packet{Bytes: 1}); !errors.Is(err, ErrDead) {
		t.Fatal(err)
	}
	var packets [2]Packet
	if queue.EnqueueBurst(0, packets[:])+queue.DequeueBurst(0, packets[:])+queue.Purge(0) != 0 {
		t.Fatal("a closed queue takes and gives packets")
	}
	_, dequeued := queue.Dequeue(0)
	_, transmitted := queue.Transmit(0)
	_, later := queue.TransmitAt()
	if _, held := queue.ReadyAt(); dequeued || transmitted || later || held {
		t.Fatal("a closed queue gives packets")
	}
}

// A link of 1 Mbit/s sends 1000 bytes in 8 ms. Would catch packets that leave sooner, and a time that nobody can wait for.
func TestPacketsLeaveAtTheRateOfTheLink(t *testing.T) {
	queue, err := New("droptail", 1_000_000, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	packets := [2]Packet{{Handle: 1, Bytes: 1000}, {Handle: 2, Bytes: 1000}}
	queue.EnqueueBurst(time.Second, packets[:])
	if packet, ok := queue.Transmit(time.Second); !ok || packet.Handle != 1 {
		t.Fatal(packet, ok)
	}
	if next, ok := queue.TransmitAt(); !ok || next != 1008*time.Millisecond {
		t.Fatal(next, ok)
	}
	if packet, ok := queue.Transmit(1007 * time.Millisecond); ok {
		t.Fatal(packet)
	}
	if packet, ok := queue.Transmit(1009 * time.Millisecond); !ok || packet.Handle != 2 {
		t.Fatal(packet, ok)
	}
	if _, ok := queue.Transmit(1016 * time.Millisecond); ok {
		t.Fatal("a third packet")
	}
	if _, ok := queue.TransmitAt(); ok {
		t.Fatal("a third time")
	}
}

// RFC 791: a datagram of 60 bytes with UDP ports. Would catch flows that do not depend on ports and secret.
func TestClassify(t *testing.T) {
	ip := []byte{0x45, 0xb8, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 54, 0, 40, 0, 0}
	var one, two, three Packet
	if !Classify(&one, ip, 3) || one.Bytes != 60 || one.TOS != 0xb8 || one.Source == one.Destination {
		t.Fatal(one)
	}
	ip[21]++
	if !Classify(&two, ip, 3) || two.Flow == one.Flow || two.Source != one.Source {
		t.Fatal(two)
	}
	if !Classify(&three, ip, 4) || three.Flow == two.Flow || Classify(&three, ip[:3], 4) || Classify(&three, nil, 4) {
		t.Fatal(three)
	}
}

// The time of a packet under choke, in bursts of 32.
func BenchmarkChoke(b *testing.B) {
	queue, err := New("choke limit=300p", 100_000_000, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer queue.Close()
	var in, out [32]Packet
	for i := range in {
		in[i] = Packet{Flow: uint64(i % 16), Bytes: 1000}
	}
	var now time.Duration
	queue.EnqueueBurst(now, in[:])
	b.ResetTimer()
	for done := 0; done < b.N; done += len(in) {
		queue.EnqueueBurst(now, in[:])
		now += 2560 * time.Microsecond
		queue.DequeueBurst(now, out[:])
	}
}
