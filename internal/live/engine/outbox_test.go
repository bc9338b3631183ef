package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
)

// countedSocket records the number of frames of every call of Send.
type countedSocket struct {
	socket
	calls []int
}

func (s *countedSocket) Send(frames [][]byte) (int, error) {
	s.calls = append(s.calls, len(frames))
	return len(frames), nil
}

// Frames of a port wait for the next flush, and one call sends all of them, up to maxBatch.
func TestFramesAreSentTogether(t *testing.T) {
	b := built(t, fmt.Sprintf(line, 1000))
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	at := b.Spec.Cables[0].A
	counted := &countedSocket{}
	(*u.at.of(at)).socket = counted
	p := packet.Packet{Hash: b.Flows.Flow[0].Hash, To: 1, Size: 1046, Meta: packet.MakeMeta(packet.Data, 1)}
	for _, n := range []int{1, 5, maxBatch + 3} {
		for range n {
			u.Send(at, &p, nil, 0)
		}
		if !u.Flush() && n%maxBatch != 0 {
			t.Errorf("no frame waited of %d", n)
		}
	}
	if want := []int{1, 5, maxBatch, 3}; !slices.Equal(counted.calls, want) {
		t.Errorf("calls with %d frames (expected %d)", counted.calls, want)
	}
	if u.Flush() {
		t.Error("frames are left")
	}
}

// limitedSender takes two frames at a time, and never a frame of two bytes.
type limitedSender struct{ got []int }

func (s *limitedSender) Send(frames [][]byte) (int, error) {
	for i, b := range frames {
		switch {
		case i == 2:
			return i, errors.New("full")
		case len(b) == 2:
			return i, errors.New("refused")
		}
		s.got = append(s.got, len(b))
	}
	return len(frames), nil
}

// A sender that stops early loses one frame, which is counted, and gets the next ones.
func TestPartialSends(t *testing.T) {
	var o outbox
	for _, n := range []int{1, 2, 3, 4, 5, 6} {
		o.add(append(o.next(), make([]byte, n)...))
	}
	s := &limitedSender{}
	o.flush(s)
	// 1, then 2 is refused; 3 and 4, then no room for 5; 6.
	if want := []int{1, 3, 4, 6}; !slices.Equal(s.got, want) || o.unsent["refused"] != 1 || o.unsent["full"] != 1 || o.n != 0 {
		t.Errorf("sent %d (expected %d), unsent %v, %d left", s.got, want, o.unsent, o.n)
	}
}
