package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/headroom"
	"github.com/xoff-net/xoff/internal/layout"
	"github.com/xoff-net/xoff/scenario"
)

// longRow is the buffer of a port of a long link.
type longRow struct {
	Rate  units.Rate `json:"rate_bps"`
	Cable string     `json:"cable"`
	Delay units.Time `json:"delay_ps"`
	headroom.LongHaul
}

// longAnswer is what headroom prints about a flow control.
type longAnswer struct {
	FlowControl string      `json:"flow_control"`
	MTU         units.Bytes `json:"mtu_bytes"`
	Classes     int         `json:"classes"`
	Links       []longRow   `json:"links"`
}

// longHaul says what a flow control needs at the ports of long links.
func (a *app) longHaul(f *headroomFlags, q *question) error {
	if f.chips || f.chip != "" || f.ports != "" {
		return wrap(exitInput, fmt.Errorf("--flow-control is about single links; allowed: --rate, --cable or --delay, --classes and the like beside it"))
	}
	cfg, err := scenario.Parse("", []byte("seed: 1"), "--flow-control "+f.scheme)
	if err != nil {
		return wrap(exitInput, err)
	}
	scheme, err := layout.FlowScheme(cfg.Switch.FlowControl)
	if err != nil {
		return wrap(exitInput, fmt.Errorf("--flow-control: %w", err))
	}
	out := &longAnswer{FlowControl: f.scheme, MTU: q.common.MTU, Classes: q.classes}
	for _, r := range q.rates {
		for _, c := range q.cables {
			l := q.common
			l.Rate, l.Delay = r, c.delay
			out.Links = append(out.Links, longRow{r, c.name, c.delay, headroom.LongHaulOf(&l, q.classes, scheme)})
		}
	}
	return wrap(exitFailure, a.printLongHaul(cfg.Switch.FlowControl.Name, out))
}

func (a *app) printLongHaul(name string, out *longAnswer) error {
	if a.json {
		return a.printJSON(out)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("rate\tcable\tdelay_us\tbdp\tpfc\t%s\tof_pfc_%%\tfits", name)
	for _, r := range out.Links {
		fits := color.GreenString("yes")
		if !r.Fits {
			fits = color.RedString("no")
		}
		w.line("%s\t%s\t%s\t%d\t%d\t%d\t%.1f\t%s", r.Rate, r.Cable, micro(r.Delay), int64(r.BDP), int64(r.PFC), int64(r.Needs), 100*r.Share, fits)
	}
	for _, r := range out.Links {
		if said := r.Why + r.Note; said != "" {
			w.line("")
			w.line("%s at %s: %s", r.Rate, r.Cable, said)
		}
	}
	return w.flush()
}
