package headroom

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
)

// Text holds the flags of `xoff headroom` as the user wrote them.
type Text struct {
	Rate, Cable, Delay, Ports, Chip       string
	MTU, Overhead, Cell, MinFrame, Buffer string
	Processing, PHY                       string
	Classes                               int
	Chips                                 bool // print all chips
	// RateGiven and the others report whether the user set the flag.
	RateGiven, CableGiven, DelayGiven, BufferGiven bool
}

// Question is a parsed and checked Text.
type Question struct {
	Classes int

	common Link // everything but rate and delay
	rates  []units.Rate
	cables []span
	ports  int         // per row; 0: no budget
	groups []portGroup // replace rates and cables
	buffer units.Bytes
	chip   string
}

// span is the length of a link: as the user wrote it, and as a delay including PHY and FEC.
type span struct {
	name  string
	delay units.Time
}

// portGroup is a group of ports in --ports.
type portGroup struct {
	count int
	rate  units.Rate
	cable span
}

// Question parses and checks the flags.
func (t *Text) Question() (*Question, error) {
	q := &Question{Classes: t.Classes}
	if err := t.common(q); err != nil {
		return nil, err
	}
	switch {
	case t.CableGiven && t.DelayGiven:
		return nil, errors.New("--cable and --delay cannot be combined: both set the length of links")
	case t.Chips && (t.Chip != "" || t.Ports != "" || t.RateGiven || t.BufferGiven):
		return nil, errors.New("--chips cannot be combined with --chip, --ports, --rate or --buffer: it prints all chips with their own values")
	case t.Chip != "" && (t.Ports != "" || t.RateGiven || t.BufferGiven):
		return nil, errors.New("--chip cannot be combined with --ports, --rate or --buffer: it sets all three")
	case t.Ports != "" && !t.BufferGiven:
		return nil, errors.New("--ports needs --buffer (expected the size of the switch's buffer, such as 16MiB)")
	case t.BufferGiven && t.Ports == "":
		return nil, errors.New("--buffer needs --ports (expected a number, or groups such as 48x25Gbps@5m,8x100Gbps@100m)")
	}
	phy, err := within("phy", t.PHY, units.ParseTime, 0, topo.MaxDelay)
	if err != nil {
		return nil, err
	}
	if err := t.cables(q, phy); err != nil {
		return nil, err
	}
	if t.Chip != "" {
		c, err := ChipNamed(t.Chip)
		q.rates, q.ports, q.buffer, q.chip = []units.Rate{c.Rate}, c.Ports, c.Buffer, c.Name
		return q, err
	}
	for _, word := range strings.Split(t.Rate, ",") {
		r, err := within("rate", word, units.ParseRate, topo.MinRate, topo.MaxRate)
		if err != nil {
			return nil, err
		}
		q.rates = append(q.rates, r)
	}
	return q, t.portsAndBuffer(q, phy)
}

// common parses the values that all links share.
func (t *Text) common(q *Question) error {
	var err error
	l := &q.common
	for _, b := range []struct {
		flag, text string
		into       *units.Bytes
		lo, hi     units.Bytes
	}{
		{"mtu", t.MTU, &l.MTU, 64, 65535}, {"overhead", t.Overhead, &l.Overhead, 0, 1000},
		{"cell", t.Cell, &l.Cell, 1, 4096}, {"min-frame", t.MinFrame, &l.MinFrame, 1, 65535},
	} {
		if *b.into, err = within(b.flag, b.text, units.ParseBytes, b.lo, b.hi); err != nil {
			return err
		}
	}
	if l.Processing = -1; t.Processing != "max" {
		if l.Processing, err = within("processing", t.Processing, units.ParseTime, 0, topo.MaxDelay); err != nil {
			return fmt.Errorf("%w; max is also accepted", err)
		}
	}
	switch {
	case l.MinFrame > l.MTU:
		return fmt.Errorf("--min-frame is %s (expected at most --mtu, %s)", l.MinFrame, l.MTU)
	case t.Classes < 1 || t.Classes > 8:
		return fmt.Errorf("--classes is %d (expected 1 to 8)", t.Classes)
	}
	return nil
}

// cables parses the lengths of links and adds phy to each.
func (t *Text) cables(q *Question, phy units.Time) error {
	list, read, flag := t.Cable, parseLength, "cable"
	if t.DelayGiven {
		list, read, flag = t.Delay, units.ParseDelay, "delay"
	}
	for _, word := range strings.Split(list, ",") {
		d, err := within(flag, word, read, 0, topo.MaxDelay)
		if err != nil {
			return err
		}
		q.cables = append(q.cables, span{strings.TrimSpace(word), d + phy})
	}
	if t.Chips && len(q.cables) > 1 {
		return fmt.Errorf("--%s has %d values (expected one with --chips)", flag, len(q.cables))
	}
	return nil
}

// maxBuffer is larger than the buffer of any switch.
const maxBuffer = 1024 * units.GiB

// portsAndBuffer parses --ports and --buffer.
func (t *Text) portsAndBuffer(q *Question, phy units.Time) error {
	if t.Ports == "" {
		return nil
	}
	var err error
	if q.buffer, err = within("buffer", t.Buffer, units.ParseBytes, 1, maxBuffer); err != nil {
		return err
	}
	if !strings.ContainsAny(t.Ports, "x@,") {
		q.ports, err = portCount(t.Ports)
		return err
	}
	if t.RateGiven {
		return errors.New("--rate cannot be combined with groups in --ports: each group sets its own rate")
	}
	if len(q.cables) > 1 {
		return fmt.Errorf("%d link lengths with groups in --ports (expected one --cable or --delay, the default of groups)", len(q.cables))
	}
	for _, word := range strings.Split(t.Ports, ",") {
		g, err := parseGroup(word, q.cables[0], phy)
		if err != nil {
			return err
		}
		q.groups = append(q.groups, g)
	}
	return nil
}

// parseGroup parses a group of ports, COUNTxRATE[@CABLE]; cable is the default.
func parseGroup(word string, cable span, phy units.Time) (g portGroup, err error) {
	g.cable = cable
	spec, length, named := strings.Cut(strings.TrimSpace(word), "@")
	n, rate, ok := strings.Cut(spec, "x")
	if !ok {
		return g, fmt.Errorf("--ports: invalid group %q (expected COUNTxRATE, optionally with @CABLE or @DELAY, such as 48x25Gbps@5m or 8x100Gbps@2us)", word)
	}
	if g.count, err = portCount(n); err != nil {
		return g, err
	}
	if g.rate, err = within("ports", rate, units.ParseRate, topo.MinRate, topo.MaxRate); err != nil || !named {
		return g, err
	}
	d, err := within("ports", length, parseSpan, 0, topo.MaxDelay)
	g.cable = span{length, d + phy}
	return g, err
}

func portCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > topo.MaxPorts {
		return 0, fmt.Errorf("--ports: invalid number of ports %q (expected 1 to %d, or groups such as 48x25Gbps@5m,8x100Gbps@100m)", s, topo.MaxPorts)
	}
	return n, nil
}

// within parses the value of a flag and checks its range.
func within[T cmp.Ordered](flag, text string, read func(string) (T, error), lo, hi T) (T, error) {
	v, err := read(strings.TrimSpace(text))
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("%v is out of range (expected %v to %v)", v, lo, hi)
	}
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// parseSpan parses the delay of a link, or the length of its cable.
func parseSpan(s string) (units.Time, error) {
	if strings.HasSuffix(s, "s") {
		return units.ParseTime(s)
	}
	d, err := parseLength(s)
	if err != nil {
		err = fmt.Errorf("%w; a delay such as 2us is also accepted", err)
	}
	return d, err
}

// parseLength parses the length of a cable and returns its delay.
func parseLength(s string) (units.Time, error) {
	d, err := units.ParseDelay(s)
	switch {
	case err != nil || d < 0 || !strings.HasSuffix(s, "m"):
		return 0, fmt.Errorf("invalid length %q (expected metres or kilometres, such as 300m or 1.5km)", s)
	case d > topo.MaxDelay:
		return 0, fmt.Errorf("length %q is out of range (expected up to 200000km)", s)
	}
	return d, nil
}

// LinkRow is the headroom of one queue of a link.
type LinkRow struct {
	Ports int         `json:"ports,omitempty"`
	Rate  units.Rate  `json:"rate_bps"`
	Cable string      `json:"cable"`
	Delay units.Time  `json:"delay_ps"`
	Eq1   units.Bytes `json:"eq1_bytes"`
	Exact units.Bytes `json:"exact_bytes"`
	Short units.Bytes `json:"eq1_short_bytes"` // Exact - Eq1; negative: eq. 1 is more than enough

	group Group
}

// Answer is the headroom of links and the resulting buffer budgets.
type Answer struct {
	Chip    string       `json:"chip,omitempty"`
	MTU     units.Bytes  `json:"mtu_bytes"`
	Classes int          `json:"classes"`
	Buffer  units.Bytes  `json:"buffer_bytes,omitempty"`
	Links   []LinkRow    `json:"links"`
	Budgets []PortBudget `json:"budgets,omitempty"`
}

// PortBudget is the buffer budget of a switch with the given ports.
type PortBudget struct {
	Ports string `json:"ports"`
	Budget
}

// link returns a link with the given rate and delay.
func (q *Question) link(rate units.Rate, delay units.Time) Link {
	l := q.common
	l.Rate, l.Delay = rate, delay
	return l
}

func (q *Question) row(ports int, rate units.Rate, cable span) LinkRow {
	l := q.link(rate, cable.delay)
	eq1, exact := l.Eq1(), l.Exact()
	return LinkRow{ports, rate, cable.name, cable.delay, eq1, exact, exact - eq1, Group{Count: ports, Link: l}}
}

// Answer calculates the headroom of all links.
func (q *Question) Answer() *Answer {
	out := &Answer{Chip: q.chip, MTU: q.common.MTU, Classes: q.Classes, Buffer: q.buffer}
	for _, g := range q.groups {
		out.Links = append(out.Links, q.row(g.count, g.rate, g.cable))
	}
	if q.groups != nil {
		out.Budgets = q.budgets(out.Links)
		return out
	}
	for _, r := range q.rates {
		for _, c := range q.cables {
			row := q.row(q.ports, r, c)
			out.Links = append(out.Links, row)
			out.Budgets = append(out.Budgets, q.budgets([]LinkRow{row})...)
		}
	}
	return out
}

// budgets divides the buffer, if one was given, between the ports of rows.
func (q *Question) budgets(rows []LinkRow) []PortBudget {
	if q.buffer == 0 {
		return nil
	}
	var names []string
	var groups []Group
	for _, r := range rows {
		names = append(names, fmt.Sprintf("%dx%s@%s", r.Ports, r.Rate, r.Cable))
		groups = append(groups, r.group)
	}
	var list []PortBudget
	for _, b := range Plan(q.buffer, q.Classes, groups) {
		list = append(list, PortBudget{strings.Join(names, ","), b})
	}
	return list
}

// ChipRow is a chip and its headroom by DSH eq. 1, 3 and 9.
type ChipRow struct {
	Chip     string      `json:"chip"`
	Ports    int         `json:"ports"`
	Rate     units.Rate  `json:"rate_bps"`
	Buffer   units.Bytes `json:"buffer_bytes"`
	Time     float64     `json:"buffer_us"` // time in which all ports fill the buffer
	Eq1      units.Bytes `json:"eq1_bytes"`
	SIH      units.Bytes `json:"sih_bytes"`
	Share    float64     `json:"sih_share"`
	DSH      units.Bytes `json:"dsh_bytes"`
	DSHShare float64     `json:"dsh_share"`
	Fig4     bool        `json:"dsh_fig4"`
}

// ChipTable calculates the headroom of all chips.
func (q *Question) ChipTable() []ChipRow {
	var rows []ChipRow
	for _, c := range Chips() {
		l := q.link(c.Rate, q.cables[0].delay)
		b := Plan(c.Buffer, q.Classes, []Group{{Count: c.Ports, Link: l}})[0]
		rows = append(rows, ChipRow{
			c.Name, c.Ports, c.Rate, c.Buffer, float64(c.BufferTime()) / float64(units.Microsecond), l.Eq1(),
			b.SIH.Headroom, b.SIH.Share, b.DSH.Headroom, b.DSH.Share, c.Fig4,
		})
	}
	return rows
}

// LongRow is the buffer of a port of a long link.
type LongRow struct {
	Rate  units.Rate `json:"rate_bps"`
	Cable string     `json:"cable"`
	Delay units.Time `json:"delay_ps"`
	LongHaul
}

// LongAnswer is the buffer that a flow control needs at the ports of long links.
type LongAnswer struct {
	FlowControl string      `json:"flow_control"`
	MTU         units.Bytes `json:"mtu_bytes"`
	Classes     int         `json:"classes"`
	Links       []LongRow   `json:"links"`
}

// LongHaul calculates the buffer that flow control s needs at the ports of long links; name
// is its name in the answer.
func (q *Question) LongHaul(name string, s flowctl.Scheme) *LongAnswer {
	out := &LongAnswer{FlowControl: name, MTU: q.common.MTU, Classes: q.Classes}
	for _, r := range q.rates {
		for _, c := range q.cables {
			l := q.link(r, c.delay)
			out.Links = append(out.Links, LongRow{r, c.name, c.delay, LongHaulOf(&l, q.Classes, s)})
		}
	}
	return out
}
