package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/capture"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario/build"
)

// captureFile is the capture of a run in its folder.
const captureFile = "capture.pcapng"

// pcapFlags say which frames of a run are captured.
type pcapFlags struct {
	what, from, to, limit string
}

func (f *pcapFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "pcap", "", "capture the frames of ports that match `PATTERN` in "+captureFile+": NODE.to-NODE or NODE.portN, several with commas, * for any text")
	flags.StringVar(&f.from, "pcap-from", "0s", "simulated `TIME` at which the capture begins")
	flags.StringVar(&f.to, "pcap-to", "", "simulated `TIME` at which the capture ends (default: with the run)")
	flags.StringVar(&f.limit, "pcap-limit", "100MB", "largest `SIZE` of the capture; later frames are left out")
}

// capturing is the capture of a run.
type capturing struct {
	*capture.Capture
	limit units.Bytes
}

// newCapture reads the flags of a capture; nil: nothing is captured.
func (a *app) newCapture(cmd *cobra.Command, f *pcapFlags) (*capturing, error) {
	if f.what == "" {
		for _, flag := range []string{"pcap-from", "pcap-to", "pcap-limit"} {
			if cmd.Flags().Changed(flag) {
				return nil, failf(exitInput, "--%s needs --pcap", flag)
			}
		}
		return nil, nil
	}
	ports := strings.TrimPrefix(f.what, "port=") // as --trace has it
	if ports == "" || strings.Contains(ports, "=") {
		return nil, failf(exitInput, "--pcap: %q cannot be captured; allowed: NODE.portN, NODE.to-NODE, several with commas", f.what)
	}
	spec := capture.Spec{Ports: ports, To: units.Never}
	var err error
	if spec.From, err = units.ParseTime(f.from); err != nil {
		return nil, failf(exitInput, "--pcap-from: %w", err)
	}
	if f.to != "" {
		if spec.To, err = units.ParseTime(f.to); err != nil {
			return nil, failf(exitInput, "--pcap-to: %w", err)
		}
	}
	if spec.Limit, err = units.ParseBytes(f.limit); err != nil {
		return nil, failf(exitInput, "--pcap-limit: %w", err)
	}
	if err := spec.Check(); err != nil {
		return nil, failf(exitInput, "--pcap: %w", err)
	}
	return &capturing{capture.New(spec), spec.Limit}, nil
}

// Bind implements run.Watcher.
func (c *capturing) Bind(b *build.Built) error {
	if err := c.Capture.Bind(b.Graph, b.Flows, b.Spec.Hosts); err != nil {
		return failf(exitInput, "--pcap: %w", err)
	}
	return nil
}

// Open implements run.Recording.
func (c *capturing) Open(create func(name, what string) (io.Writer, error)) error {
	w, err := create(captureFile, "the frames of chosen ports, for Wireshark and tshark")
	if err != nil {
		return err
	}
	return c.Capture.Open(w)
}

// Flush implements run.Watcher.
func (c *capturing) Flush() error {
	if err := c.Capture.Flush(); err != nil {
		return fmt.Errorf("cannot write the capture: %w", err)
	}
	return nil
}

// Close implements run.Recording.
func (c *capturing) Close(*metrics.Outcome) error { return nil }

// tellCapture says what is missing in a capture.
func (a *app) tellCapture(c *capturing) {
	if c == nil || a.quiet {
		return
	}
	if at, full := c.Full(); full {
		fmt.Fprintf(a.err, "xoff: %s is full: --pcap-limit %s was reached after %s frames, at %s; what passed later is not in it\n",
			captureFile, c.limit, count(uint64(c.Frames())), at)
	} else if c.Frames() == 0 {
		fmt.Fprintf(a.err, "xoff: %s has no frames: none passed these ports in that time\n", captureFile)
	}
}
