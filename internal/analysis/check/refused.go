package check

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/yaml"
)

// refused reports a scenario that `xoff run` would reject. It skips scenarios with
// overcommitted buffers, which have a finding already, and those without workload.
func (c *checker) refused() {
	overcommitted := func(f Finding) bool { return f.Kind == KindBuffer && f.Level == Problem }
	if slices.ContainsFunc(c.report.Findings, overcommitted) || len(c.Config.Workload) == 0 {
		return
	}
	err := c.Fits()
	if err == nil {
		err = fabric.Plan{Layout: c.l}.CheckBuild()
	}
	if err == nil {
		return
	}
	f := Finding{Level: Problem, Kind: KindRun}
	var at *yaml.InputError
	if errors.As(err, &at) {
		err, f.At = at.Err, locationOf(at)
	}
	f.What = fmt.Sprintf("xoff run rejects this scenario: %v", err)
	c.add(f)
}
