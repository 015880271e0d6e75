// Tunnel DEV PORT PEER:PORT RATE DISCIPLINE is one end of a tunnel over UDP, whose packets wait in a discipline of Fairlane.
//
// Packets that the system sends to the TUN device DEV wait in the queue that DISCIPLINE describes ("fq-codel", "choke limit=300p"), leave
// at RATE bit/s and go to the other end in datagrams. Datagrams from there become packets of the device. A VPN would encrypt a packet as
// it leaves the queue, after the discipline has read and marked its header.
package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	fairlane "github.com/fairlane/fairlane/contrib/go"
)

const (
	outerHeaders = 28      // IPv4 and UDP
	room         = 1 << 16 // for a packet
	ahead        = 64      // packets that are read before others are queued
)

// openDevice opens the TUN device called name.
func openDevice(name string) (*os.File, error) {
	device, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var request [40]byte
	copy(request[:syscall.IFNAMSIZ-1], name)
	binary.NativeEndian.PutUint16(request[syscall.IFNAMSIZ:], syscall.IFF_TUN|syscall.IFF_NO_PI)
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, uintptr(device), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request[0])))
	if code != 0 {
		return nil, code
	}
	return os.NewFile(uintptr(device), name), nil
}

// setTOS writes a TOS or traffic class byte that the discipline has changed, and corrects the checksum of IPv4 (RFC 1624).
func setTOS(ip []byte, tos byte) {
	if ip[0]>>4 == 6 {
		ip[0], ip[1] = 0x60|tos>>4, tos<<4|ip[1]&0x0f
		return
	}
	sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + uint32(^uint16(ip[1])) + uint32(tos)
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum&0xffff+sum>>16))
	ip[1] = tos
}

// packets reads packets until that fails, and then closes the channel.
func packets(read func([]byte) (int, error)) <-chan []byte {
	into := make(chan []byte, ahead)
	go func() {
		defer close(into)
		data := make([]byte, room)
		for {
			count, err := read(data)
			if err != nil {
				return
			}
			into <- append([]byte(nil), data[:count]...)
		}
	}()
	return into
}

// line is the packets that wait, by handle, and the queue that orders them.
type line struct {
	queue   *fairlane.Queue
	waiting map[uint64][]byte
	next    uint64
	secret  uint64
}

// arrive offers a packet. Those of other protocols than IP are not sent.
func (l *line) arrive(now time.Duration, ip []byte) {
	packet := fairlane.Packet{Handle: l.next}
	if !fairlane.Classify(&packet, ip, l.secret) {
		return
	}
	packet.Bytes = uint32(len(ip) + outerHeaders)
	l.waiting[l.next] = ip
	l.next++
	l.queue.Enqueue(now, &packet)
}

// run carries packets until a signal comes.
func run(device *os.File, peer *net.UDPConn, text string, rate uint64) error {
	var random [16]byte
	// Senders can guess neither where their packets fall nor which ones are dropped.
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	l := line{waiting: map[uint64][]byte{}, secret: binary.NativeEndian.Uint64(random[8:])}
	var sent, dropped, marked uint64
	var err error
	l.queue, err = fairlane.New(text, rate, binary.NativeEndian.Uint64(random[:]), func(event fairlane.Event) {
		if event.Marked {
			marked++
			return
		}
		dropped++
		delete(l.waiting, event.Packet.Handle)
	})
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	start := time.Now()
	ours := packets(device.Read)
	go func() {
		for datagram := range packets(func(data []byte) (int, error) {
			// Another end that is not there yet is no reason to stop.
			for {
				if count, err := peer.Read(data); err == nil || errors.Is(err, net.ErrClosed) {
					return count, err
				}
			}
		}) {
			// The device takes only IP; a packet that it does not take is lost, as on any link.
			device.Write(datagram)
		}
	}()
	timer := time.NewTimer(0)
	for {
		for {
			packet, ok := l.queue.Transmit(time.Since(start))
			if err := l.queue.Err(); err != nil {
				return err
			}
			if !ok {
				break
			}
			ip := l.waiting[packet.Handle]
			delete(l.waiting, packet.Handle)
			setTOS(ip, packet.TOS)
			// A datagram that is lost on its way is nothing new to the packet in it.
			peer.Write(ip)
			sent++
		}
		wait := time.Hour
		if next, ok := l.queue.TransmitAt(); ok {
			wait = next - time.Since(start)
		}
		timer.Reset(wait)
		select {
		case ip, ok := <-ours:
			if !ok {
				return errors.New("the device is gone")
			}
			l.arrive(time.Since(start), ip)
		case <-timer.C:
		case <-stop:
			fmt.Fprintf(os.Stderr, "tunnel: %d sent, %d dropped, %d marked\n", sent, dropped, marked)
			return l.queue.Err()
		}
	}
}

func main() {
	if err := tunnel(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "tunnel:", err)
		os.Exit(1)
	}
}

func tunnel(words []string) error {
	if len(words) != 6 {
		return errors.New("DEV PORT PEER:PORT RATE DISCIPLINE: RATE is in bit/s")
	}
	rate, err := strconv.ParseUint(words[4], 10, 64)
	if err != nil {
		return err
	}
	device, err := openDevice(words[1])
	if err != nil {
		return fmt.Errorf("%s: %w", words[1], err)
	}
	ours, err := net.ResolveUDPAddr("udp4", ":"+words[2])
	if err != nil {
		return err
	}
	theirs, err := net.ResolveUDPAddr("udp4", words[3])
	if err != nil {
		return err
	}
	peer, err := net.DialUDP("udp4", ours, theirs)
	if err != nil {
		return err
	}
	return run(device, peer, words[5], rate)
}
