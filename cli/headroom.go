package cli

import (
	"strconv"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/headroom"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
)

// headroomFlags are the flags of `xoff headroom`.
type headroomFlags struct {
	headroom.Text
	scheme string // flow control of long links
}

func (a *app) headroomCommand() *cobra.Command {
	f := &headroomFlags{}
	cmd := &cobra.Command{
		Use:   "headroom",
		Short: "Compute how much headroom lossless queues need",
		Long: `Compute the headroom of a lossless queue, by eq. 1 of the DSH paper and exactly: all
bytes that can arrive after a pause is due. With ports and a buffer, also compute what
is left of the buffer when every queue has its own headroom (SIH, eq. 3) or every port
has one (DSH, eq. 9).

  xoff headroom --rate 100Gbps,400Gbps --cable 3m,300m
  xoff headroom --chip tomahawk --classes 2
  xoff headroom --ports 48x25Gbps@5m,8x100Gbps@100m --buffer 32MiB --mtu 9216B
  xoff headroom --chips

With --flow-control, compute the buffer that a flow control needs at a port of a long
link, compared with PFC, which needs one bandwidth-delay product above its threshold
and one below:

  xoff headroom --flow-control bifrost --rate 400Gbps --cable 600km

Columns are bytes unless their name says otherwise. See docs/headroom.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changed := cmd.Flags().Changed
			f.RateGiven, f.CableGiven, f.DelayGiven, f.BufferGiven = changed("rate"), changed("cable"), changed("delay"), changed("buffer")
			q, err := f.Question()
			if err != nil {
				return wrap(exitInput, err)
			}
			if f.scheme != "" {
				if !changed("classes") {
					q.Classes = 1
				}
				return a.longHaul(f, q)
			}
			if f.Chips {
				return wrap(exitFailure, a.printChips(q))
			}
			return wrap(exitFailure, a.printHeadroom(q))
		},
	}
	s := cmd.Flags()
	s.StringVar(&f.Rate, "rate", "25Gbps,100Gbps,400Gbps", "`RATE` of links, comma-separated")
	s.StringVar(&f.Cable, "cable", "300m", "`LENGTH` of cables in m or km, comma-separated; 5 ns per metre")
	s.StringVar(&f.Delay, "delay", "", "one-way propagation `TIME` of links, comma-separated, instead of --cable")
	s.StringVar(&f.PHY, "phy", "0ns", "delay `TIME` of PHY and FEC, sum of both ends, added to every cable")
	s.StringVar(&f.MTU, "mtu", "1500B", "`SIZE` of the largest frame")
	s.StringVar(&f.Processing, "processing", "max", "`TIME` from the arrival of a pause to its effect; max: 3840 B of line time, the limit of IEEE 802.1Qbb")
	s.StringVar(&f.Overhead, "overhead", "0B", "`SIZE` of preamble and gap per frame, 20B on Ethernet; eq. 1 ignores it")
	s.StringVar(&f.Cell, "cell", "1B", "`SIZE` of a cell, the unit of storage: a frame takes whole cells")
	s.StringVar(&f.MinFrame, "min-frame", "64B", "`SIZE` of the smallest frame of a lossless class, to find the frame size that wastes most of its cells")
	s.StringVar(&f.Ports, "ports", "", "`PORTS` of the switch: a number, or groups such as 48x25Gbps@5m,8x100Gbps@100m")
	s.IntVar(&f.Classes, "classes", 8, "number `N` of lossless classes per port")
	s.StringVar(&f.Buffer, "buffer", "", "buffer `SIZE` of the switch; needs --ports")
	s.StringVar(&f.Chip, "chip", "", "`NAME` of a chip (see --chips) that sets ports, rate and buffer")
	s.StringVar(&f.scheme, "flow-control", "", "`NAME` or NAME:PARAMETER=VALUE,... of a flow control: compute its buffer at a long link; changes the default of --classes to 1")
	s.BoolVar(&f.Chips, "chips", false, "print the table of known chips, by eq. 1 and 3 (DSH Fig. 4 with the defaults)")
	a.printFlags(cmd)
	return cmd
}

func chipNames() []string {
	var names []string
	for _, c := range headroom.Chips() {
		names = append(names, c.Name+"\t"+c.Note)
	}
	return names
}

func (a *app) printHeadroom(q *headroom.Question) error {
	out := q.Answer()
	if a.json {
		return a.printJSON(out)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("rate\tcable\tdelay_us\teq1\texact\teq1_short")
	for _, r := range out.Links {
		w.line("%s\t%s\t%s\t%d\t%d\t%d", r.Rate, r.Cable, micro(r.Delay), int64(r.Eq1), int64(r.Exact), int64(r.Short))
	}
	if len(out.Budgets) > 0 {
		w.line("")
		w.line("ports\tclasses\tbuffer\tphi\tsih_headroom\tsih_%%\tsih_footroom\tdsh_headroom\tdsh_%%\tdsh_footroom")
		for _, b := range out.Budgets {
			w.line("%s\t%d\t%d\t%s\t%d\t%.1f\t%d\t%d\t%.1f\t%d", b.Ports, out.Classes, int64(out.Buffer), b.Rule, int64(b.SIH.Headroom), 100*b.SIH.Share, int64(b.SIH.Footroom),
				int64(b.DSH.Headroom), 100*b.DSH.Share, int64(b.DSH.Footroom))
		}
	}
	return w.flush()
}

func (a *app) printChips(q *headroom.Question) error {
	rows := q.ChipTable()
	if a.json {
		return a.printJSON(rows)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("chip\tports\trate\tbuffer_MiB\tbuffer_us\teq1\tsih_headroom\tsih_%%\tdsh_headroom\tdsh_%%\tdsh_fig4")
	for _, r := range rows {
		fig4 := "-"
		if r.Fig4 {
			fig4 = "yes"
		}
		w.line("%s\t%d\t%s\t%.4g\t%.1f\t%d\t%d\t%.1f\t%d\t%.1f\t%s", r.Chip, r.Ports, r.Rate, float64(r.Buffer)/float64(units.MiB), r.Time, int64(r.Eq1), int64(r.SIH), 100*r.Share, int64(r.DSH), 100*r.DSHShare, fig4)
	}
	return w.flush()
}

// longHaul prints the buffer that a flow control needs at the ports of long links.
func (a *app) longHaul(f *headroomFlags, q *headroom.Question) error {
	if f.Chips || f.Chip != "" || f.Ports != "" {
		return failf(exitInput, "--flow-control cannot be combined with --chips, --chip or --ports")
	}
	cfg, err := scenario.Parse("", []byte("seed: 1"), "--flow-control "+f.scheme)
	if err != nil {
		return wrap(exitInput, err)
	}
	scheme, err := layout.FlowScheme(cfg.Switch.FlowControl)
	if err != nil {
		return failf(exitInput, "--flow-control: %w", err)
	}
	return wrap(exitFailure, a.printLongHaul(cfg.Switch.FlowControl.Name, q.LongHaul(f.scheme, scheme)))
}

func (a *app) printLongHaul(name string, out *headroom.LongAnswer) error {
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
		if note := r.Why + r.Note; note != "" {
			w.line("")
			w.line("%s at %s: %s", r.Rate, r.Cable, note)
		}
	}
	return w.flush()
}

// micro formats a time in microseconds without a unit.
func micro(t units.Time) string {
	return strconv.FormatFloat(float64(t)/float64(units.Microsecond), 'f', -1, 64)
}
