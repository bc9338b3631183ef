package cli

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/headroom"
	"github.com/xoff-net/xoff/topo"
)

// headroomFlags are what the command is asked, as it was written.
type headroomFlags struct {
	rate, cable, delay, ports, chip           string
	mtu, overhead, cell, minFrame, buffer     string
	processing, phy, scheme                   string
	classes                                   int
	chips                                     bool
	rateGiven, cableGiven, buffered, delaying bool
}

func (a *app) headroomCommand() *cobra.Command {
	f := &headroomFlags{}
	cmd := &cobra.Command{
		Use:   "headroom",
		Short: "Work out how much headroom lossless queues need",
		Long: `Works out the headroom of a lossless queue, by eq. 1 of the DSH paper and exactly
(all that can arrive after a pause is due), and what is left of a buffer when
every queue has its own (SIH, eq. 3) or every port one (DSH, eq. 9).

  xoff headroom --rate 100Gbps,400Gbps --cable 3m,300m
  xoff headroom --chip tomahawk --classes 2
  xoff headroom --ports 48x25Gbps@5m,8x100Gbps@100m --buffer 32MiB --mtu 9216B
  xoff headroom --chips

With --flow-control it is the buffer that a scheme needs at a port of a long link,
beside that of PFC, which has a bandwidth-delay product above its threshold and one
below:

  xoff headroom --flow-control bifrost --rate 400Gbps --cable 600km

Columns are bytes unless their name says otherwise. See docs/headroom.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changed := cmd.Flags().Changed
			f.rateGiven, f.cableGiven, f.delaying, f.buffered = changed("rate"), changed("cable"), changed("delay"), changed("buffer")
			q, err := f.question()
			if err != nil {
				return wrap(exitInput, err)
			}
			if f.scheme != "" {
				if !changed("classes") {
					q.classes = 1
				}
				return a.longHaul(f, q)
			}
			if f.chips {
				return wrap(exitFailure, a.printChips(q))
			}
			return wrap(exitFailure, a.printHeadroom(q))
		},
	}
	s := cmd.Flags()
	s.StringVar(&f.rate, "rate", "25Gbps,100Gbps,400Gbps", "`RATE` of links, several with commas")
	s.StringVar(&f.cable, "cable", "300m", "`LENGTH` of cables in m or km, several with commas; 5 ns per metre")
	s.StringVar(&f.delay, "delay", "", "one-way delay `TIME` of links instead of --cable, several with commas")
	s.StringVar(&f.phy, "phy", "0ns", "delay `TIME` of PHY and FEC of both ends together, added to every cable")
	s.StringVar(&f.mtu, "mtu", "1500B", "`SIZE` of the largest frame")
	s.StringVar(&f.processing, "processing", "max", "`TIME` from the arrival of a pause to its effect; max: 3840 B of line time, as IEEE 802.1Qbb allows")
	s.StringVar(&f.overhead, "overhead", "0B", "`SIZE` of preamble and gap per frame, 20B on Ethernet; eq. 1 ignores it")
	s.StringVar(&f.cell, "cell", "1B", "`SIZE` of a cell, the unit of storage: a frame takes whole cells")
	s.StringVar(&f.minFrame, "min-frame", "64B", "`SIZE` of the smallest frame of a lossless class; it, or one byte more than fills cells, wastes most of them")
	s.StringVar(&f.ports, "ports", "", "`PORTS` of the switch: a number, or groups such as 48x25Gbps@5m,8x100Gbps@100m")
	s.IntVar(&f.classes, "classes", 8, "`N` lossless classes at each port")
	s.StringVar(&f.buffer, "buffer", "", "buffer `SIZE` of the switch; with --ports")
	s.StringVar(&f.chip, "chip", "", "take ports, rate and buffer from chip `NAME` (see --chips)")
	s.StringVar(&f.scheme, "flow-control", "", "what a port of a long link needs with this flow control: `NAME` or NAME:PARAMETER=VALUE,...; one lossless class unless --classes says more")
	s.BoolVar(&f.chips, "chips", false, "all chips that are known, by eq. 1 and 3 (DSH Fig. 4 with the defaults)")
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

// question is what the command is asked, read and checked.
type question struct {
	common  headroom.Link // all but rate and delay
	rates   []units.Rate
	cables  []span
	classes int
	ports   int     // of each row; 0: not asked for
	mixed   []mixed // groups of ports, instead of rates and cables
	buffer  units.Bytes
	chip    string
}

// span is a cable as it was written, and its delay with that of PHY and FEC.
type span struct {
	name  string
	delay units.Time
}

type mixed struct {
	count int
	rate  units.Rate
	cable span
}

func (f *headroomFlags) question() (*question, error) {
	q := &question{classes: f.classes}
	if err := f.common(q); err != nil {
		return nil, err
	}
	switch {
	case f.cableGiven && f.delaying:
		return nil, fmt.Errorf("--cable and --delay both say how long links are; allowed: one of them")
	case f.chips && (f.chip != "" || f.ports != "" || f.rateGiven || f.buffered):
		return nil, fmt.Errorf("--chips is a table of all chips; allowed: --chip for one of them, or --ports, --rate and --buffer without --chips")
	case f.chip != "" && (f.ports != "" || f.rateGiven || f.buffered):
		return nil, fmt.Errorf("--chip says ports, rate and buffer; allowed: --chip, or --ports, --rate and --buffer")
	case f.ports != "" && !f.buffered:
		return nil, fmt.Errorf("--ports needs --buffer: what is left depends on it")
	case f.buffered && f.ports == "":
		return nil, fmt.Errorf("--buffer needs --ports; allowed: a number, or groups such as 48x25Gbps@5m,8x100Gbps@100m")
	}
	phy, err := within("phy", f.phy, units.ParseTime, 0, topo.MaxDelay)
	if err != nil {
		return nil, err
	}
	list, read, flag := f.cable, parseCable, "cable"
	if f.delaying {
		list, read, flag = f.delay, units.ParseDelay, "delay"
	}
	for _, word := range strings.Split(list, ",") {
		d, err := within(flag, word, read, 0, topo.MaxDelay)
		if err != nil {
			return nil, err
		}
		q.cables = append(q.cables, span{strings.TrimSpace(word), d + phy})
	}
	if f.chips && len(q.cables) > 1 {
		return nil, fmt.Errorf("--%s has %d values; allowed: one with --chips", flag, len(q.cables))
	}
	if f.chip != "" {
		c, err := headroom.ChipNamed(f.chip)
		q.rates, q.ports, q.buffer, q.chip = []units.Rate{c.Rate}, c.Ports, c.Buffer, c.Name
		return q, err
	}
	for _, word := range strings.Split(f.rate, ",") {
		r, err := within("rate", word, units.ParseRate, topo.MinRate, topo.MaxRate)
		if err != nil {
			return nil, err
		}
		q.rates = append(q.rates, r)
	}
	return q, f.room(q, phy)
}

// common reads what all links have in common.
func (f *headroomFlags) common(q *question) error {
	var err error
	l := &q.common
	for _, b := range []struct {
		flag, text string
		into       *units.Bytes
		lo, hi     units.Bytes
	}{
		{"mtu", f.mtu, &l.MTU, 64, 65535}, {"overhead", f.overhead, &l.Overhead, 0, 1000},
		{"cell", f.cell, &l.Cell, 1, 4096}, {"min-frame", f.minFrame, &l.MinFrame, 1, 65535},
	} {
		if *b.into, err = within(b.flag, b.text, units.ParseBytes, b.lo, b.hi); err != nil {
			return err
		}
	}
	if l.Processing = -1; f.processing != "max" {
		if l.Processing, err = within("processing", f.processing, units.ParseTime, 0, topo.MaxDelay); err != nil {
			return fmt.Errorf("%w, or max", err)
		}
	}
	switch {
	case l.MinFrame > l.MTU:
		return fmt.Errorf("--min-frame is %s; allowed: at most --mtu, %s", l.MinFrame, l.MTU)
	case f.classes < 1 || f.classes > 8:
		return fmt.Errorf("--classes is %d; allowed: 1 to 8", f.classes)
	}
	return nil
}

// maxBuffer is more than any switch has.
const maxBuffer = 1024 * units.GiB

// room reads ports and buffer.
func (f *headroomFlags) room(q *question, phy units.Time) error {
	if f.ports == "" {
		return nil
	}
	var err error
	if q.buffer, err = within("buffer", f.buffer, units.ParseBytes, 1, maxBuffer); err != nil {
		return err
	}
	if !strings.ContainsAny(f.ports, "x@,") {
		q.ports, err = portCount(f.ports)
		return err
	}
	if f.rateGiven {
		return fmt.Errorf("--ports says the rate of each group; allowed: a number of ports with --rate, or groups with --cable or --delay for those that name none")
	}
	if len(q.cables) > 1 {
		return fmt.Errorf("there are %d lengths of links; allowed: one of --cable or --delay, for groups of --ports that name none", len(q.cables))
	}
	for _, word := range strings.Split(f.ports, ",") {
		g := mixed{cable: q.cables[0]}
		spec, cable, named := strings.Cut(strings.TrimSpace(word), "@")
		n, rate, ok := strings.Cut(spec, "x")
		if !ok {
			return fmt.Errorf("--ports: %q is no group of ports; allowed: COUNTxRATE, with @CABLE or @DELAY if you like, such as 48x25Gbps@5m or 8x100Gbps@2us", word)
		}
		if g.count, err = portCount(n); err != nil {
			return err
		}
		if g.rate, err = within("ports", rate, units.ParseRate, topo.MinRate, topo.MaxRate); err != nil {
			return err
		}
		if named {
			d, err := within("ports", cable, parseSpan, 0, topo.MaxDelay)
			if err != nil {
				return err
			}
			g.cable = span{cable, d + phy}
		}
		q.mixed = append(q.mixed, g)
	}
	return nil
}

func portCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > topo.MaxPorts {
		return 0, fmt.Errorf("--ports: %q is no number of ports; allowed: 1 to %d, or groups such as 48x25Gbps@5m,8x100Gbps@100m", s, topo.MaxPorts)
	}
	return n, nil
}

// within reads the value of a flag and checks its range.
func within[T cmp.Ordered](flag, text string, read func(string) (T, error), lo, hi T) (T, error) {
	v, err := read(strings.TrimSpace(text))
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("%v is out of range; allowed: %v to %v", v, lo, hi)
	}
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// parseSpan reads the delay of a link, or the length of its cable.
func parseSpan(s string) (units.Time, error) {
	if strings.HasSuffix(s, "s") {
		return units.ParseTime(s)
	}
	d, err := parseCable(s)
	if err != nil {
		err = fmt.Errorf("%w, or a delay such as 2us", err)
	}
	return d, err
}

// parseCable returns the delay of a cable of so many metres.
func parseCable(s string) (units.Time, error) {
	number, perUnit := strings.TrimSuffix(s, "m"), int64(units.PerMetre)
	if km, ok := strings.CutSuffix(number, "k"); ok {
		number, perUnit = km, 1000*perUnit
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok || !strings.HasSuffix(s, "m") || len(number) > 20 || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is no length; allowed: metres or kilometres, such as 300m or 1.5km", s)
	}
	v.Mul(v, new(big.Rat).SetInt64(perUnit))
	ps := new(big.Int).Quo(v.Num(), v.Denom())
	if !ps.IsInt64() || units.Time(ps.Int64()) > topo.MaxDelay {
		return 0, fmt.Errorf("%q is longer than any cable; allowed: up to 200000km", s)
	}
	return units.Time(ps.Int64()), nil
}

// linkRow is the headroom of a queue of a link.
type linkRow struct {
	Ports int         `json:"ports,omitempty"`
	Rate  units.Rate  `json:"rate_bps"`
	Cable string      `json:"cable"`
	Delay units.Time  `json:"delay_ps"`
	Eq1   units.Bytes `json:"eq1_bytes"`
	Exact units.Bytes `json:"exact_bytes"`
	Short units.Bytes `json:"eq1_short_bytes"` // negative: eq. 1 is more than enough

	group headroom.Group
}

// answer is what the command prints.
type answer struct {
	Chip    string       `json:"chip,omitempty"`
	MTU     units.Bytes  `json:"mtu_bytes"`
	Classes int          `json:"classes"`
	Buffer  units.Bytes  `json:"buffer_bytes,omitempty"`
	Links   []linkRow    `json:"links"`
	Budgets []roomBudget `json:"budgets,omitempty"`
}

// roomBudget is a budget of all ports of a switch.
type roomBudget struct {
	Ports string `json:"ports"`
	headroom.Budget
}

func (q *question) row(ports int, rate units.Rate, cable span) linkRow {
	l := q.common
	l.Rate, l.Delay = rate, cable.delay
	eq1, exact := l.Eq1(), l.Exact()
	return linkRow{ports, rate, cable.name, cable.delay, eq1, exact, exact - eq1, headroom.Group{Count: ports, Link: l}}
}

// answer works it out.
func (q *question) answer() *answer {
	out := &answer{Chip: q.chip, MTU: q.common.MTU, Classes: q.classes, Buffer: q.buffer}
	add := func(rows []linkRow) {
		if q.buffer == 0 {
			return
		}
		var names []string
		var groups []headroom.Group
		for _, r := range rows {
			names = append(names, fmt.Sprintf("%dx%s@%s", r.Ports, r.Rate, r.Cable))
			groups = append(groups, r.group)
		}
		for _, b := range headroom.Plan(q.buffer, q.classes, groups) {
			out.Budgets = append(out.Budgets, roomBudget{strings.Join(names, ","), b})
		}
	}
	for _, g := range q.mixed {
		out.Links = append(out.Links, q.row(g.count, g.rate, g.cable))
	}
	if q.mixed != nil {
		add(out.Links)
		return out
	}
	for _, r := range q.rates {
		for _, c := range q.cables {
			row := q.row(q.ports, r, c)
			out.Links = append(out.Links, row)
			add([]linkRow{row})
		}
	}
	return out
}

func (a *app) printHeadroom(q *question) error {
	out := q.answer()
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

// chipRow is a chip and what eq. 1 and 3 make of it.
type chipRow struct {
	Chip     string      `json:"chip"`
	Ports    int         `json:"ports"`
	Rate     units.Rate  `json:"rate_bps"`
	Buffer   units.Bytes `json:"buffer_bytes"`
	Time     float64     `json:"buffer_us"` // at the rate of all ports
	Eq1      units.Bytes `json:"eq1_bytes"`
	SIH      units.Bytes `json:"sih_bytes"`
	Share    float64     `json:"sih_share"`
	DSH      units.Bytes `json:"dsh_bytes"`
	DSHShare float64     `json:"dsh_share"`
	Fig4     bool        `json:"dsh_fig4"`
}

func (a *app) printChips(q *question) error {
	var rows []chipRow
	for _, c := range headroom.Chips() {
		l := q.common
		l.Rate, l.Delay = c.Rate, q.cables[0].delay
		b := headroom.Plan(c.Buffer, q.classes, []headroom.Group{{Count: c.Ports, Link: l}})[0]
		rows = append(rows, chipRow{
			c.Name, c.Ports, c.Rate, c.Buffer, float64(c.BufferTime()) / float64(units.Microsecond), l.Eq1(), b.SIH.Headroom, b.SIH.Share, b.DSH.Headroom, b.DSH.Share, c.Fig4,
		})
	}
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

// micro prints a time in microseconds without a unit.
func micro(t units.Time) string {
	return strconv.FormatFloat(float64(t)/float64(units.Microsecond), 'f', -1, 64)
}
