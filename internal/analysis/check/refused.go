package check

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/yaml"
)

// refused reports what `xoff run` would not run. Buffers that are promised twice are a
// finding of their own, and a fabric alone, without workload, can be checked.
func (c *checker) refused() {
	twice := func(f Finding) bool { return f.Kind == OfBuffer && f.Level == Problem }
	if slices.ContainsFunc(c.report.Findings, twice) || len(c.Config.Workload) == 0 {
		return
	}
	err := c.Fits()
	if err == nil {
		err = fabric.Plan{Layout: c.l}.Refuses()
	}
	if err == nil {
		return
	}
	f := Finding{Level: Problem, Kind: OfRun}
	var at *yaml.InputError
	if errors.As(err, &at) {
		err, f.At = at.Err, placeOf(at)
	}
	f.What = fmt.Sprintf("a run is refused: %v", err)
	c.add(f)
}
