package validate

import (
	"maps"
	"slices"

	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/workload"
)

func (f fabric) checkWorkloads() error {
	names := make(map[string]bool)
	expected := 0.0
	for i := range f.Config.Workload {
		w := &f.Config.Workload[i]
		path := layout.WorkloadPath(i)
		switch {
		case w.Name == "" || !printable(w.Name):
			return yaml.Atf(path+".name", "%q is not a valid name (expected printable text without surrounding spaces)", w.Name)
		case names[w.Name]:
			return yaml.Atf(path+".name", "%q is also the name of another workload (expected unique names)", w.Name)
		}
		names[w.Name] = true
		if err := (checker{f.Config}).checkTransport(path+".transport", w.Transport); err != nil {
			return err
		}
		if t, ok := w.Params.(*workload.Trace); ok {
			for _, of := range slices.Sorted(maps.Keys(t.Transports)) {
				if err := (checker{f.Config}).checkTransport(path+".transports."+of, t.Transports[of]); err != nil {
					return err
				}
			}
		}
		if _, ok := w.Params.(workload.Placer); ok && f.Config.Compat.Ties == "insertion" {
			return yaml.Atf("compat.ties", "workload %s is a job, which needs the order by key (expected key)", w.Name)
		}
		n, err := f.expectedFlows(i)
		if err != nil {
			return err
		}
		if expected += n; expected > layout.MaxFlows {
			return yaml.Atf(path, "the workloads up to this one have about %.0f flows (expected at most %d)", expected, layout.MaxFlows)
		}
	}
	return nil
}

// expectedFlows checks a workload and estimates its number of flows.
func (f fabric) expectedFlows(i int) (float64, error) {
	g, e, err := f.Generator(i)
	if err != nil {
		return 0, err
	}
	n, err := g.Check(e)
	if err != nil {
		return 0, layout.WorkloadError(layout.WorkloadPath(i), err)
	}
	return n, nil
}

func (f fabric) checkProbes() error {
	_, err := f.Probes()
	return err
}
