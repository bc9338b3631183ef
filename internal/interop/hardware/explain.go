package hardware

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// explain says why points of a row with a known profile are not within, as far as other
// rows and the numbers themselves tell.
func (r *Result) explain(all []Result) {
	if p := r.Drop; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("drop %+d cells: %s", p.Cells, r.whyDrop(all)))
	}
	if p := r.PFC; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("PFC %+d cells: %s", p.Cells, r.whyPFC()))
	}
	if p := r.Pool; p != nil && !p.Within {
		r.Why = append(r.Why, fmt.Sprintf("pool of headroom %+d cells: %s", p.Cells, r.whyPool()))
	}
}

func (r *Result) whyDrop(all []Result) string {
	p := r.Drop
	if o := r.sameDistance(all); o != nil {
		return fmt.Sprintf("the row has the distance of %s (%d Mbps, %d m), whose profile fits it: it is a copy", o.ID, o.Speed, o.Cable)
	}
	if text := r.twoPrices(); text != "" {
		return text
	}
	if r.setup.borrow {
		for n := int64(1); n <= 4; n++ {
			each := int64(r.setup.headroom / r.setup.cell)
			if d := n*each - p.Measured; n != int64(r.setup.classes) && -near <= d && d <= near {
				return fmt.Sprintf("headroom of %d lossless queues of the port would be %d cells; the test names %d queues", n, n*each, r.setup.classes)
			}
		}
	}
	if cells := max(p.Cells, -p.Cells); cells <= r.setup.cells(r.Margin) {
		return fmt.Sprintf("within the margin of the row, %d frames: it was not measured to the cell", r.Margin)
	}
	if p.Cells > 0 {
		return "fewer cells than the profile has headroom: what became of the others is not known"
	}
	return "more cells than the profile has headroom: another profile than that of the file, or a number of another test"
}

// sameDistance finds a row of the same chip that has the same distance and is predicted.
func (r *Result) sameDistance(all []Result) *Result {
	for i := range all {
		o := &all[i]
		if o.Chip == r.Chip && o.ID != r.ID && o.Drop != nil && o.Drop.Within && o.Drop.Measured == r.Drop.Measured && o.Frame == r.Frame {
			return o
		}
	}
	return nil
}

// twoPrices tells of rows with large frames in buffers that count bytes, whose two points
// give two prices of a frame.
func (r *Result) twoPrices() string {
	s := r.setup
	if s.perPacket == 0 || s.frame == 64 || r.PFC == nil || r.Drop == nil {
		return ""
	}
	price := s.frame + s.perPacket
	before, after := price*units.Bytes(r.PFC.Predicted)/units.Bytes(max(1, r.PFC.Measured)), price*units.Bytes(r.Drop.Predicted)/units.Bytes(max(1, r.Drop.Measured))
	return fmt.Sprintf("with frames of %d B the points would need a price of %d B before the pause and of %d B after it, where the rows of 64 B give %d B", int64(s.frame), int64(before), int64(after), int64(price))
}

func (r *Result) whyPFC() string {
	p, s := r.PFC, r.setup
	if text := r.twoPrices(); text != "" {
		return text
	}
	// What the shared part would have to lack, or to have more: the threshold is
	// alpha / (1 + alpha) of it.
	missing := p.Cells
	if s.exponent >= 0 {
		missing += p.Cells >> s.exponent
	} else {
		missing += p.Cells << -s.exponent
	}
	missing *= int64(s.parts)
	switch {
	case p.Measured%1000 == 0:
		return fmt.Sprintf("the row is a round number of thousands with a margin of %d, no measurement to the cell", r.Margin)
	case r.Ports == nil && missing > 0:
		return fmt.Sprintf("as if %d cells less were shared; how many ports have lossless queues, and what they take, is not known for this row", missing)
	case missing > 0:
		return fmt.Sprintf("as if %d cells less were shared than the files leave; what else was reserved at the test is not known", missing)
	default:
		return fmt.Sprintf("as if %d cells more were shared: fewer ports had lossless queues at the test than the %d of the files, or minimums were smaller", -missing, max(1, bytesOr(r.Ports, 0)))
	}
}

func (r *Result) whyPool() string {
	s := r.setup
	cost := (s.frame+s.cell-1)/s.cell*s.cell + s.perPacket
	has, part := int64(s.headroom/cost), int64(s.pool/units.Bytes(s.parts)/cost)
	switch {
	case *r.Full < has-near || *r.Full > has+near:
		return fmt.Sprintf("the test fills %d frames a queue, and the profile has %d: it was made with another profile", *r.Full, has)
	case r.Pool.Measured < part && r.Pool.Predicted < part:
		return fmt.Sprintf("the queues of the test do not use up the %d frames of the pool", part)
	default:
		return fmt.Sprintf("a port sees %d frames of the pool; the test ends before", part)
	}
}
