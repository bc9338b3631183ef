package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// settings maps the keys of an opponent, named like the flags of `xoff bench`, to setters.
var settings = map[string]func(c *Case, value string) error{
	"hosts":      func(c *Case, v string) (err error) { c.Hosts, err = number(v); return err },
	"workers":    func(c *Case, v string) (err error) { c.Workers, err = number(v); return err },
	"link-delay": func(c *Case, v string) (err error) { c.LinkDelay, err = units.ParseDelay(v); return err },
	"warm-up":    func(c *Case, v string) (err error) { c.WarmUp, err = units.ParseTime(v); return err },
	"us": func(c *Case, v string) (err error) {
		us, err := number(v)
		c.Measured = units.Time(us) * units.Microsecond
		return err
	},
	"cc":           func(c *Case, v string) error { c.CC = v; return nil },
	"policy":       func(c *Case, v string) error { c.Policy = v; return nil },
	"flow-control": func(c *Case, v string) error { c.FlowControl = v; return nil },
}

func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number (expected a number such as 64)", s)
	}
	return n, nil
}

// Opponent parses spec and returns the Runner that base is compared with. A spec lists
// settings that differ from base, such as "workers=2" or "hosts=1024,link-delay=20ns".
// "cmd:" followed by a shell command returns an External.
func Opponent(base Case, spec string) (Runner, error) {
	if command, ok := strings.CutPrefix(spec, "cmd:"); ok {
		return External(command), nil
	}
	other := base
	for part := range strings.SplitSeq(spec, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(part), "=")
		set, ok := settings[name]
		if !ok {
			return nil, fmt.Errorf("unknown setting %q (allowed: hosts, workers, link-delay, warm-up, us, cc, policy, flow-control with =VALUE, or cmd:COMMAND)", name)
		}
		if !given || value == "" {
			return nil, fmt.Errorf("%s has no value (expected %s=VALUE)", name, name)
		}
		if err := set(&other, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := other.Scenario(); err != nil {
		return nil, err
	}
	return other, nil
}

// External is a shell command that measures something itself: another `xoff bench`, or a
// program that prints "ns/hop(all) X" and "cal X", and optionally "wall Xs" and "cpu Xs".
type External string

// Sample implements Runner.
func (e External) Sample(ctx context.Context) (Sample, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", string(e)).Output()
	if err != nil {
		return Sample{}, fmt.Errorf("%s: %w", string(e), err)
	}
	return parseExternal(string(out))
}

func (e External) describe(r *Result) { r.Command = string(e) }

var (
	nsPattern   = regexp.MustCompile(`ns/hop\(all\)\s+([0-9.]+)|([0-9.]+) ns of CPU per hop`)
	calPattern  = regexp.MustCompile(`\bcal\s+([0-9.]+)|\(calibration step ([0-9.]+) ns\)`)
	wallPattern = regexp.MustCompile(`\bwall\s+([0-9.]+)s|hops in ([0-9.]+) s`)
	cpuPattern  = regexp.MustCompile(`\bcpu\s+([0-9.]+)s|\(([0-9.]+) s of CPU\)`)
)

func parseExternal(out string) (Sample, error) {
	find := func(p *regexp.Regexp) float64 {
		m := p.FindStringSubmatch(out)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(m[1]+m[2], 64)
		return v
	}
	s := Sample{NsPerHop: find(nsPattern), Cal: find(calPattern), Wall: find(wallPattern), CPU: find(cpuPattern)}
	if s.NsPerHop <= 0 || s.Cal <= 0 {
		return Sample{}, fmt.Errorf("no measurement in the output of the command: %q (expected \"ns/hop(all) X\" and \"cal X\")", out)
	}
	return s, nil
}
