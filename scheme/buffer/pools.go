package buffer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// pools are the pools of SONiC's model (Reverie section 2.2) that are smaller than the shared
// segment. The policy keeps its own sums, updated with every frame. They include private bytes,
// which the egress side does not distinguish.
type pools struct {
	view         mmu.View
	lossyPart    alpha // share of the shared segment
	losslessPart alpha
	lossy        units.Bytes // stored bytes of lossy frames
	lossless     units.Bytes // stored bytes of lossless frames, headroom included
	wholeAll     bool        // lossless queues may fill the whole shared segment
}

func newPools(v mmu.View, lossy, lossless units.Ratio) (pools, error) {
	for _, s := range []struct {
		key   string
		share units.Ratio
	}{{"lossy_pool", lossy}, {"lossless_pool", lossless}} {
		if s.share.Num <= 0 || s.share.Num > s.share.Den {
			return pools{}, fmt.Errorf("%s is %d/%d (expected more than 0 and at most 1)", s.key, s.share.Num, s.share.Den)
		}
	}
	return pools{
		view: v, lossyPart: newAlpha(lossy), losslessPart: newAlpha(lossless),
		wholeAll: lossless.Num == lossless.Den,
	}, nil
}

// lossyFree returns the free bytes of the egress pool of lossy queues.
func (p *pools) lossyFree(v mmu.View) units.Bytes {
	return max(0, p.lossyPart.of(v.SharedSize())-p.lossy)
}

// losslessFree returns the bytes that lossless queues may still take of the shared segment, which
// has free bytes left.
func (p *pools) losslessFree(v mmu.View, free units.Bytes) units.Bytes {
	if p.wholeAll {
		return free
	}
	used := p.lossless - v.Used(mmu.Headroom) - v.Used(mmu.Reserve)
	if v != p.view { // a deadlock search passes a hypothetical state with fewer stored bytes
		used = v.SharedOf(mmu.Lossless)
	}
	return max(0, min(free, p.losslessPart.of(v.SharedSize())-used))
}

// count adds a frame to its pool (sign 1) or removes it (sign -1).
func (p *pools) count(a *mmu.Arrival, sign units.Bytes) {
	switch a.Kind {
	case mmu.Lossy:
		p.lossy += sign * a.Bytes
	case mmu.Lossless:
		p.lossless += sign * a.Bytes
	}
}

// optional is an alpha that may be missing, which means no limit.
type optional struct {
	alpha
	none bool
}

func newOptional(r units.Ratio) optional { return optional{newAlpha(r), r == units.Ratio{}} }

// within reports whether a queue stays within its share of the free bytes.
func (o *optional) within(queue, free units.Bytes) bool { return o.none || queue <= o.of(free) }

// positive rejects ratios that are not above 0, which only Go callers can pass.
func positive(key string, r units.Ratio) error {
	if r.Num <= 0 || r.Den <= 0 {
		return fmt.Errorf("%s is %d/%d (expected more than 0)", key, r.Num, r.Den)
	}
	return nil
}

// oneOf checks that a word is one of the allowed ones.
func oneOf(key, word string, allowed ...string) error {
	if !slices.Contains(allowed, word) {
		return fmt.Errorf("%s is %q (allowed: %s)", key, word, strings.Join(allowed, ", "))
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// setGauges fills in the first gauges with byte counts.
func setGauges(values []float64, list ...units.Bytes) {
	for i, b := range list {
		values[i] = float64(b)
	}
}

// saturated is the length at which a queue counts as one congested queue; a shorter one counts as
// a fraction (as in the authors' ABM and Reverie code).
const saturated units.Bytes = 20480

// congestion counts the congested queues of each class, n_p, in units of 1/saturated.
type congestion struct {
	parts []units.Bytes // by queue: its length, at most saturated
	sums  [mmu.Classes]units.Bytes
}

func newCongestion(ports int) congestion {
	return congestion{parts: make([]units.Bytes, ports*mmu.Classes)}
}

// set records the new length of a queue.
func (c *congestion) set(port int, class uint8, length units.Bytes) {
	part := &c.parts[port*mmu.Classes+int(class&7)]
	now := min(saturated, length)
	c.sums[class&7] += now - *part
	*part = now
}

// over returns b divided by n_p, which is at least 1.
func (c *congestion) over(class uint8, b units.Bytes) units.Bytes {
	return b * saturated / max(saturated, c.sums[class&7])
}

// queues returns n_p for gauges.
func (c *congestion) queues(class uint8) float64 {
	return max(1, float64(c.sums[class&7])/float64(saturated))
}
