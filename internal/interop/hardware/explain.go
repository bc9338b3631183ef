package hardware

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// explain adds explanations of values out of tolerance, as far as other rows and the
// numbers themselves allow.
func (r *Result) explain(all []Result) {
	if p := r.Drop; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("drop %+d cells: %s", p.Cells, r.explainDrop(all)))
	}
	if p := r.PFC; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("PFC %+d cells: %s", p.Cells, r.explainPFC()))
	}
	if p := r.Pool; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("headroom pool %+d cells: %s", p.Cells, r.explainPool()))
	}
}

func (r *Result) explainDrop(all []Result) string {
	p := r.Drop
	if o := r.sameDistance(all); o != nil {
		return fmt.Sprintf("probably copied from %s (%d Mbps, %d m), which has the same distance and a fitting profile", o.ID, o.Speed, o.Cable)
	}
	if text := r.twoCharges(); text != "" {
		return text
	}
	if r.setup.borrow {
		for n := int64(1); n <= 4; n++ {
			each := int64(r.setup.headroom / r.setup.cell)
			if d := n*each - p.Measured; n != int64(r.setup.classes) && -tolerance <= d && d <= tolerance {
				return fmt.Sprintf("%d lossless queues of the port would have %d cells of headroom; the test has %d queues", n, n*each, r.setup.classes)
			}
		}
	}
	if cells := max(p.Cells, -p.Cells); cells <= r.setup.cells(r.Margin) {
		return fmt.Sprintf("within the margin of the row, %d frames: the measurement is not exact to the cell", r.Margin)
	}
	if p.Cells > 0 {
		return "fewer cells than the profile's headroom, for an unknown reason"
	}
	return "more cells than the profile's headroom: measured with another profile, or copied from another test"
}

// sameDistance finds a row of the same chip with the same distance from pause to drop that
// is within tolerance.
func (r *Result) sameDistance(all []Result) *Result {
	for i := range all {
		o := &all[i]
		if o.Chip == r.Chip && o.ID != r.ID && o.Drop != nil && o.Drop.Within && o.Drop.Measured == r.Drop.Measured && o.Frame == r.Frame {
			return o
		}
	}
	return nil
}

// twoCharges explains rows with large frames in buffers that count bytes: their two
// thresholds imply different charges per frame.
func (r *Result) twoCharges() string {
	s := r.setup
	if s.perPacket == 0 || s.frame == 64 || r.PFC == nil || r.Drop == nil {
		return ""
	}
	charge := s.frame + s.perPacket
	before, after := charge*units.Bytes(r.PFC.Predicted)/units.Bytes(max(1, r.PFC.Measured)), charge*units.Bytes(r.Drop.Predicted)/units.Bytes(max(1, r.Drop.Measured))
	return fmt.Sprintf("the thresholds imply that a frame of %d B takes %d B before the pause and %d B after it; rows with frames of 64 B imply %d B", int64(s.frame), int64(before), int64(after), int64(charge))
}

func (r *Result) explainPFC() string {
	p, s := r.PFC, r.setup
	if text := r.twoCharges(); text != "" {
		return text
	}
	// missing is the number of cells by which the shared segment would have to be smaller;
	// negative: larger. The threshold is alpha / (1 + alpha) of it.
	missing := p.Cells
	if s.exponent >= 0 {
		missing += p.Cells >> s.exponent
	} else {
		missing += p.Cells << -s.exponent
	}
	missing *= int64(s.parts)
	switch {
	case p.Measured%1000 == 0:
		return fmt.Sprintf("the row has a round number of thousands and a margin of %d: it is not exact to the cell", r.Margin)
	case r.Ports == nil && missing > 0:
		return fmt.Sprintf("as if the shared segment were %d cells smaller; the number of ports with lossless queues is unknown for this row", missing)
	case missing > 0:
		return fmt.Sprintf("as if the shared segment were %d cells smaller than in the files; other reservations during the test are unknown", missing)
	default:
		return fmt.Sprintf("as if the shared segment were %d cells larger: the test had fewer ports with lossless queues than the %d in the files, or smaller minimums", -missing, max(1, bytesOr(r.Ports, 0)))
	}
}

func (r *Result) explainPool() string {
	s := r.setup
	cost := (s.frame+s.cell-1)/s.cell*s.cell + s.perPacket
	has, part := int64(s.headroom/cost), int64(s.pool/units.Bytes(s.parts)/cost)
	switch {
	case *r.Full < has-tolerance || *r.Full > has+tolerance:
		return fmt.Sprintf("the test fills %d frames per queue, but the profile has %d: it was made with another profile", *r.Full, has)
	case r.Pool.Measured < part && r.Pool.Predicted < part:
		return fmt.Sprintf("the queues of the test do not fill the %d frames of the pool", part)
	default:
		return fmt.Sprintf("a port sees %d frames of the pool; the test ends earlier", part)
	}
}
