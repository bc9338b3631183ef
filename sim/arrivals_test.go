package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// gatherFew orders the frames of a block like gatherAll, simultaneous ones too.
func TestFewArrivalsAreOrderedLikeMany(t *testing.T) {
	const window = units.Microsecond
	trials.Check(t, func(t *rapid.T) {
		n := newFastNode(4)
		w := &worker{arrivals: newArrivals(window), near: newNear(1, window, minNearWindows)}
		w.all, n.worker = []*worker{w}, w
		w.near.begin(3)
		b, k := w.near.box(0, 3), &block{}
		b.last = k
		kinds := []packet.Kind{packet.Data, packet.Ack, packet.PFC}
		for range rapid.IntRange(1, blockFrames).Draw(t, "frames") {
			p := &k.frames[b.n]
			p.Meta = packet.MakeMeta(rapid.SampledFrom(kinds).Draw(t, "kind"), 1)
			p.At = 3*window + rapid.SampledFrom([]units.Time{0, 5, 900}).Draw(t, "time")
			p.SetPort(rapid.IntRange(0, 3).Draw(t, "port"))
			b.n++
		}
		w.boxes = []*box{b}
		all := slices.Clone(w.gatherAll(n, 3*window, 4*window))
		if few := w.gatherFew(b, 3*window)[:b.n+1]; !slices.Equal(few, all) {
			t.Errorf("few: %x\nall: %x", few, all)
		}
	})
}
