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

// Ring is a packet socket on a Linux interface. It receives frames in a ring of memory shared
// with the kernel, so polling needs no system call. It sends frames with sendmmsg(2).
type Ring struct {
	file *os.File
	fd   int
	mem  []byte
	size int // size of a slot
	next int // slot that the kernel fills next
	tag  []byte
	lost uint64
	vecs [maxBatch]unix.Iovec
	msgs [maxBatch]message
}

// message is struct mmsghdr of sendmmsg(2).
type message struct {
	header unix.Msghdr
	_      uint32 // length of the frame
}

// Slots of a ring. TPACKET_V3 would use less memory for short frames, but delivers them in
// blocks, milliseconds late.
const (
	ringSlots     = 1024
	smallSlot     = 1 << 11
	largeSlot     = 1 << 14
	ringBlock     = 1 << 16
	slotHeaderMax = 128 // kernel header and alignment of the frame
)

func slotSize(mtu int) int {
	if mtu+slotHeaderMax <= smallSlot {
		return smallSlot
	}
	return largeSlot
}

// OpenRing opens a packet socket on an interface of the current network namespace, for frames of
// up to mtu bytes. It needs CAP_NET_RAW; NewRing needs no privileges.
func OpenRing(name string, mtu int) (*os.File, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	// The runtime would watch a non-blocking socket and wake a thread for every frame.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
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

// NewRing maps the ring of a socket that OpenRing opened with the same mtu, possibly in another
// process.
func NewRing(f *os.File, mtu int) (*Ring, error) {
	r := &Ring{file: f, fd: int(f.Fd()), size: slotSize(mtu)}
	var err error
	if r.mem, err = unix.Mmap(r.fd, 0, ringSlots*r.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("interface %s: %w", f.Name(), err)
	}
	return r, nil
}

// header returns the header of the next slot, and its status.
func (r *Ring) header() (*unix.Tpacket2Hdr, *uint32) {
	h := (*unix.Tpacket2Hdr)(unsafe.Pointer(&r.mem[r.next*r.size]))
	return h, &h.Status
}

// ready reports whether a frame was received.
func (r *Ring) ready() bool {
	_, status := r.header()
	return atomic.LoadUint32(status)&unix.TP_STATUS_USER != 0
}

// Poll implements Interface. The bytes of a frame are valid only during take. A frame longer than
// a slot is truncated, but still longer than the maximum frame.
func (r *Ring) Poll(most int, take func(b []byte, came int64, unfilled bool)) {
	for range most {
		h, status := r.header()
		s := atomic.LoadUint32(status)
		if s&unix.TP_STATUS_USER == 0 {
			return
		}
		at := r.next * r.size
		start := at + int(h.Mac)
		b := r.mem[start:min(start+int(h.Snaplen), at+r.size)]
		came := int64(h.Sec)*int64(time.Second) + int64(h.Nsec)
		switch {
		case s&unix.TP_STATUS_VLAN_VALID != 0 && len(b) >= 12:
			// The kernel removed the VLAN tag.
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

// rings waits for the frames of several rings.
type rings []unix.PollFd

func (r *rings) add(ring *Ring) {
	*r = append(*r, unix.PollFd{Fd: int32(ring.fd), Events: unix.POLLIN})
}

// wait sleeps until a frame arrives or the time is over. An error is harmless: the caller checks
// the clock.
func (r rings) wait(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	if telling(d) {
		_, _ = unix.Ppoll(r, &t, nil)
		return
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(r))), uintptr(len(r)), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// Lost implements Interface.
func (r *Ring) Lost() uint64 {
	if s, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.lost += uint64(s.Drops) // since the last call
	}
	return r.lost
}

// Send implements sender.
func (r *Ring) Send(frames [][]byte) (sent int, err error) {
	frames = frames[:min(len(frames), maxBatch)]
	for i, b := range frames {
		v, m := &r.vecs[i], &r.msgs[i].header
		v.Base, m.Iov = unsafe.SliceData(b), v
		v.SetLen(len(b))
		m.SetIovlen(1)
	}
	// The call does not block, so the scheduler need not know about it.
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.msgs)), uintptr(len(frames)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Close closes the socket.
func (r *Ring) Close() error { return errors.Join(unix.Munmap(r.mem), r.file.Close()) }
