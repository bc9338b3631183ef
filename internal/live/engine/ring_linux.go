package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is a packet socket on an interface of Linux, whose frames come by a ring in memory
// that it shares with the kernel: to look whether one has come costs no call. Frames are
// sent by write(2): a ring for sending would need a call for each frame, too, since every
// frame has its own time, and veth copies out of it what it hands on.
type Ring struct {
	file *os.File
	fd   int
	mem  []byte
	size int // of a slot
	next int // slot that the kernel fills next
	tag  []byte
	lost uint64
}

// Slots of a ring. TPACKET_V3 would take less room for short frames, but hands them over
// in blocks, milliseconds late.
const (
	ringSlots     = 1024
	smallSlot     = 1 << 11
	largeSlot     = 1 << 14
	ringBlock     = 1 << 16
	slotHeaderMax = 128 // that of the kernel, and where it puts the frame
)

func slotSize(mtu int) int {
	if mtu+slotHeaderMax <= smallSlot {
		return smallSlot
	}
	return largeSlot
}

// OpenRing opens the packet socket of an interface of the present network namespace, for
// frames up to a length. It needs CAP_NET_RAW; NewRing needs nothing.
func OpenRing(name string, mtu int) (*os.File, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w; packet sockets need root, or CAP_NET_RAW", err)
		}
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := setRing(fd, i.Index, mtu); err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", name, err), f.Close())
	}
	return f, nil
}

func setRing(fd, index, mtu int) error {
	slot := slotSize(mtu)
	req := unix.TpacketReq{Block_size: ringBlock, Block_nr: uint32(ringSlots * slot / ringBlock), Frame_size: uint32(slot), Frame_nr: ringSlots}
	promiscuous := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	for _, set := range []func() error{
		func() error { return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2) },
		func() error { return unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req) },
		func() error { return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1) },
		func() error { return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1) },
		func() error {
			return unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &promiscuous)
		},
		func() error {
			all := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
			return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index})
		},
	} {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// NewRing maps the ring of a socket that OpenRing has opened for frames up to the same
// length, perhaps in another process.
func NewRing(f *os.File, mtu int) (*Ring, error) {
	r := &Ring{file: f, fd: int(f.Fd()), size: slotSize(mtu)}
	var err error
	if r.mem, err = unix.Mmap(r.fd, 0, ringSlots*r.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("interface %s: %w", f.Name(), err)
	}
	return r, nil
}

// header returns that of the next slot, and its status.
func (r *Ring) header() (*unix.Tpacket2Hdr, *uint32) {
	h := (*unix.Tpacket2Hdr)(unsafe.Pointer(&r.mem[r.next*r.size]))
	return h, &h.Status
}

// ready reports whether a frame has come.
func (r *Ring) ready() bool {
	_, status := r.header()
	return atomic.LoadUint32(status)&unix.TP_STATUS_USER != 0
}

// Poll hands over the frames that have come, each with when that was, in nanoseconds of the
// wall, and whether its sender left a checksum to the network card. They are the ring's. One
// that is longer than a slot comes without its end, and still longer than any that is allowed.
func (r *Ring) Poll(take func(b []byte, came int64, unfilled bool)) {
	for range ringSlots {
		h, status := r.header()
		s := atomic.LoadUint32(status)
		if s&unix.TP_STATUS_USER == 0 {
			return
		}
		at := r.next * r.size
		start := at + int(h.Mac)
		b := r.mem[start:min(start+int(h.Snaplen), at+r.size)]
		came := time.Unix(int64(h.Sec), int64(h.Nsec)).UnixNano()
		switch {
		case s&unix.TP_STATUS_VLAN_VALID != 0 && len(b) >= 12:
			// The kernel has taken the tag out.
			tpid := uint16(unix.ETH_P_8021Q)
			if s&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
				tpid = h.Vlan_tpid
			}
			r.tag = append(r.tag[:0], b[:12]...)
			r.tag = binary.BigEndian.AppendUint16(r.tag, tpid)
			r.tag = binary.BigEndian.AppendUint16(r.tag, h.Vlan_tci)
			r.tag = append(r.tag, b[12:]...)
			take(r.tag, came, s&unix.TP_STATUS_CSUMNOTREADY != 0)
		default:
			take(b, came, s&unix.TP_STATUS_CSUMNOTREADY != 0)
		}
		atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
		r.next = (r.next + 1) % ringSlots
	}
}

// Lost is how many frames came that nobody had room for.
func (r *Ring) Lost() uint64 {
	if s, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.lost += uint64(s.Drops) // since it was asked for last
	}
	return r.lost
}

// Send sends a frame without its check sequence.
func (r *Ring) Send(b []byte) error {
	_, err := unix.Write(r.fd, b)
	return err
}

// Close gives the socket back.
func (r *Ring) Close() error { return errors.Join(unix.Munmap(r.mem), r.file.Close()) }
