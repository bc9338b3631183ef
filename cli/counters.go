package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
)

// countersFlags write the counters of the switches of a run as real switches export them.
type countersFlags struct{ file, every string }

func (f *countersFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "counters", "", "CSV `FILE` for counters of switches over time with SAI names, for xoff calibrate")
	cmd.Flags().StringVar(&f.every, "counters-every", "1ms", "`TIME` between two samples of --counters")
}

// recorder returns a watcher that writes the file at the end of the run, or nil.
func (f *countersFlags) recorder() (*sampling, error) {
	if f.file == "" {
		return nil, nil
	}
	every, err := units.ParseTime(f.every)
	if err != nil || every < units.Microsecond {
		return nil, failf(exitInput, "--counters-every is %q (expected a time of 1us or more)", f.every)
	}
	return &sampling{&counters.Recorder{Every: every}, f.file, nil}, nil
}

// sampling samples the counters of the switches of a run.
type sampling struct {
	*counters.Recorder
	file  string
	built *fabric.Fabric
}

// Bind implements run.Watcher.
func (s *sampling) Bind(b *fabric.Fabric) error {
	s.built = b
	return nil
}

// Open implements run.Recording.
func (s *sampling) Open(func(name, what string) (io.Writer, error)) error { return nil }

// Close implements run.Recording.
func (s *sampling) Close(o *metrics.Outcome) error {
	used := usedClasses(o)
	err := disk.WriteFile(s.file, s.Set(o.Nodes, len(o.Hosts), used, o.End).Write)
	if err != nil {
		return fmt.Errorf("--counters: %w", err)
	}
	return nil
}

// usedClasses returns the classes that a fabric has.
func usedClasses(o *metrics.Outcome) (used [mmu.Classes]bool) {
	for i := range o.Counters.Ports {
		for c := range uint8(mmu.Classes) {
			used[c] = used[c] || o.Counters.Ports[i].View.Kind(c) != mmu.Unused
		}
	}
	return used
}
