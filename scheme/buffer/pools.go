package buffer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// pools are the pools of SONiC's model (Reverie section 2.2) that are not the whole
// shared segment. Sums are the policy's own, kept up to date as frames come and go. They
// count what is private to a queue, too: at the egress nobody tells that apart.
type pools struct {
	view         mmu.View
	lossyPart    alpha // of the shared segment
	losslessPart alpha
	lossy        units.Bytes // of lossy frames, all that is stored
	lossless     units.Bytes // the same of lossless frames, headroom included
	wholeAll     bool        // lossless queues may take all of it
}

func newPools(v mmu.View, lossy, lossless units.Ratio) (pools, error) {
	for _, s := range []struct {
		key   string
		share units.Ratio
	}{{"lossy_pool", lossy}, {"lossless_pool", lossless}} {
		if s.share.Num <= 0 || s.share.Num > s.share.Den {
			return pools{}, fmt.Errorf("%s is %d/%d; allowed: more than 0, at most 1", s.key, s.share.Num, s.share.Den)
		}
	}
	return pools{
		view: v, lossyPart: newAlpha(lossy), losslessPart: newAlpha(lossless),
		wholeAll: lossless.Num == lossless.Den,
	}, nil
}

// lossyFree is what is left of the egress pool of lossy queues.
func (p *pools) lossyFree(v mmu.View) units.Bytes {
	return max(0, p.lossyPart.of(v.SharedSize())-p.lossy)
}

// losslessFree is what is left of the shared segment for lossless queues, of which free
// is left for all.
func (p *pools) losslessFree(v mmu.View, free units.Bytes) units.Bytes {
	if p.wholeAll {
		return free
	}
	used := p.lossless - v.Used(mmu.Headroom) - v.Used(mmu.Reserve)
	if v != p.view { // a search for deadlock asks what would be if less were stored
		used = v.SharedOf(mmu.Lossless)
	}
	return max(0, min(free, p.losslessPart.of(v.SharedSize())-used))
}

// count counts a frame that came, or by a negative sign one that left.
func (p *pools) count(a *mmu.Arrival, sign units.Bytes) {
	switch a.Kind {
	case mmu.Lossy:
		p.lossy += sign * a.Bytes
	case mmu.Lossless:
		p.lossless += sign * a.Bytes
	}
}

// optional is a ratio that may be missing: then there is no limit.
type optional struct {
	alpha
	none bool
}

func newOptional(r units.Ratio) optional { return optional{newAlpha(r), r == units.Ratio{}} }

// within reports whether a queue stays within its part of what is free.
func (o *optional) within(queue, free units.Bytes) bool { return o.none || queue <= o.of(free) }

// positive refuses alphas that no file can have, but a program.
func positive(key string, r units.Ratio) error {
	if r.Num <= 0 || r.Den <= 0 {
		return fmt.Errorf("%s is %d/%d; allowed: more than 0", key, r.Num, r.Den)
	}
	return nil
}

// oneOf checks a word.
func oneOf(key, word string, allowed ...string) error {
	if !slices.Contains(allowed, word) {
		return fmt.Errorf("%s is %q; allowed: %s", key, word, strings.Join(allowed, ", "))
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// measured fills in gauges of whole numbers of bytes.
func measured(values []float64, list ...units.Bytes) {
	for i, b := range list {
		values[i] = float64(b)
	}
}

// saturated is how long a queue must be to count as one congested queue; a shorter one
// counts as a part (authors' program of ABM and Reverie).
const saturated units.Bytes = 20480

// congestion counts the congested queues of each class, n_p, in parts of saturated.
type congestion struct {
	parts []units.Bytes // by queue: what it counts, at most saturated
	sums  [mmu.Classes]units.Bytes
}

func newCongestion(ports int) congestion {
	return congestion{parts: make([]units.Bytes, ports*mmu.Classes)}
}

// set follows a change of a queue.
func (c *congestion) set(port int, class uint8, length units.Bytes) {
	part := &c.parts[port*mmu.Classes+int(class&7)]
	now := min(saturated, length)
	c.sums[class&7] += now - *part
	*part = now
}

// over divides by n_p, which is at least 1.
func (c *congestion) over(class uint8, b units.Bytes) units.Bytes {
	return b * saturated / max(saturated, c.sums[class&7])
}

// queues is n_p, for gauges.
func (c *congestion) queues(class uint8) float64 {
	return max(1, float64(c.sums[class&7])/float64(saturated))
}
