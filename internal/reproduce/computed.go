package reproduce

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/headroom"
)

// chipMeasures are the numbers of a chip: the buffer over the capacity, the
// headroom that eq. 1 and 3 of DSH reserve, and its share of the buffer.
var chipMeasures = []string{"buffer_time_ps", "headroom_bytes", "headroom_share"}

// computed are the points of an experiment that is a function of its x: chips.
func (e *Experiment) computed(scale string) ([]PointResult, error) {
	var list []PointResult
	for _, at := range e.places(scale) {
		chip, err := headroom.ChipNamed(at.X)
		if err != nil {
			return nil, err
		}
		share := headroom.Share(chip, e.Compute.MTU, e.Compute.Delay, e.Compute.Classes)
		link := headroom.Link{Rate: chip.Rate, Delay: e.Compute.Delay, MTU: e.Compute.MTU}
		total := headroom.SIH(e.Compute.Classes, headroom.Ports{Count: chip.Ports, PHI: link.Eq1()})
		numbers := map[string]float64{
			"buffer_time_ps": float64(chip.BufferTime() / units.Picosecond), "headroom_bytes": float64(total), "headroom_share": share,
		}
		values := make(map[string]float64)
		for i := range e.Metrics {
			m := &e.Metrics[i]
			values[m.Name] = float64(numbers[m.Summary] * m.factor())
		}
		list = append(list, PointResult{Place: at, Values: values})
	}
	return list, nil
}
