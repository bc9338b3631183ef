package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// most is how many mistakes of a switch are kept.
const most = 200

// decoder makes a Switch of tables.
type decoder struct {
	s          *Switch
	err        error // the first
	pools      map[string]*Pool
	profiles   map[string]*Profile
	schedulers map[string]*Scheduler
	wreds      map[string]*WRED
	maps       map[string]map[string]*Map // by table and name
	// oldForm and newForm are where references with and without brackets stood first.
	oldForm, newForm *Place
}

// reader reads rows of a table.
type reader struct {
	table string
	read  func(*decoder, *entry)
	most  int // rows that are taken
}

// readers are the tables that are understood.
var readers = map[string]reader{}

// order is the one in which tables are read: what is referred to comes first.
var order = []reader{
	{"DEVICE_METADATA", (*decoder).metadata, mostNamed},
	{"PORT", (*decoder).portRow, mostNamed},
	{"CABLE_LENGTH", (*decoder).cables, mostNamed},
	{"BUFFER_POOL", (*decoder).pool, mostNamed},
	{"BUFFER_PROFILE", (*decoder).profile, mostNamed},
	{"BUFFER_PG", (*decoder).pg, mostRows},
	{"BUFFER_QUEUE", (*decoder).queue, mostRows},
	{"BUFFER_PORT_INGRESS_PROFILE_LIST", (*decoder).profileList, mostNamed},
	{"BUFFER_PORT_EGRESS_PROFILE_LIST", (*decoder).profileList, mostNamed},
	{"DEFAULT_LOSSLESS_BUFFER_PARAMETER", (*decoder).defaults, mostNamed},
	{"LOSSLESS_TRAFFIC_PATTERN", (*decoder).pattern, mostNamed},
	{dscpTable, (*decoder).smallMap, mostNamed},
	{dot1pTable, (*decoder).smallMap, mostNamed},
	{tcQueueTable, (*decoder).smallMap, mostNamed},
	{tcPGTable, (*decoder).smallMap, mostNamed},
	{pfcQueueTable, (*decoder).smallMap, mostNamed},
	{pfcPGTable, (*decoder).smallMap, mostNamed},
	{"SCHEDULER", (*decoder).scheduler, mostNamed},
	{"WRED_PROFILE", (*decoder).wred, mostNamed},
	{"PORT_QOS_MAP", (*decoder).qos, mostNamed},
	{"QUEUE", (*decoder).served, mostRows},
	{"PFC_WD", (*decoder).watchdog, mostNamed},
	{"DEVICE_NEIGHBOR", (*decoder).neighbour, mostNamed},
	{lldpTable, (*decoder).lldp, mostNamed},
}

// Tables of maps, and of neighbours that were seen.
const (
	dscpTable     = "DSCP_TO_TC_MAP"
	dot1pTable    = "DOT1P_TO_TC_MAP"
	tcQueueTable  = "TC_TO_QUEUE_MAP"
	tcPGTable     = "TC_TO_PRIORITY_GROUP_MAP"
	pfcQueueTable = "MAP_PFC_PRIORITY_TO_QUEUE"
	pfcPGTable    = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"
	lldpTable     = "LLDP_ENTRY_TABLE"
)

func init() {
	for _, o := range order {
		readers[o.table] = o
	}
}

// decode makes a switch of its tables.
func decode(t *tables) (*Switch, error) {
	d := &decoder{
		s:     &Switch{File: t.file, Maps: map[string][]*Map{}, port: map[string]*Port{}},
		pools: map[string]*Pool{}, profiles: map[string]*Profile{}, schedulers: map[string]*Scheduler{}, wreds: map[string]*WRED{},
		maps: map[string]map[string]*Map{},
	}
	d.s.Pattern.MTU, d.s.Pattern.Small = 1024, 50
	for _, o := range order {
		for _, r := range merged(t.rows[o.table]) {
			o.read(d, &entry{decoder: d, Place: Place{t.file, o.table, r.key, ""}, row: r})
			if d.err != nil {
				return nil, d.err
			}
		}
	}
	for _, name := range t.names {
		if _, known := readers[name]; !known {
			d.s.Unread = append(d.s.Unread, shorten(name))
		}
	}
	d.finish()
	return d.s, nil
}

// finish sorts what was read, and looks at it as a whole.
func (d *decoder) finish() {
	s := d.s
	slices.SortStableFunc(s.Ports, func(a, b *Port) int { return Natural(a.Name, b.Name) })
	slices.SortStableFunc(s.Pools, func(a, b *Pool) int { return Natural(a.Name, b.Name) })
	slices.SortStableFunc(s.Profiles, func(a, b *Profile) int { return Natural(a.Name, b.Name) })
	slices.SortStableFunc(s.Schedulers, func(a, b *Scheduler) int { return Natural(a.Name, b.Name) })
	slices.SortStableFunc(s.WREDs, func(a, b *WRED) int { return Natural(a.Name, b.Name) })
	for _, list := range s.Maps {
		slices.SortStableFunc(list, func(a, b *Map) int { return Natural(a.Name, b.Name) })
	}
	if d.oldForm != nil && d.newForm != nil {
		d.mistake(*d.oldForm, Odd, "a reference in brackets, [TABLE|name], but %s has a bare name: no release takes both", *d.newForm)
	}
}

// merged joins rows of the same key: a later part adds fields or replaces them.
func merged(rows []row) []row {
	at := make(map[string]int, len(rows))
	var list []row
	for _, r := range rows {
		i, seen := at[r.key]
		if !seen {
			at[r.key] = len(list)
			list = append(list, r)
			continue
		}
		list[i].fields = append(list[i].fields, r.fields...)
	}
	return list
}

func (d *decoder) fail(at Place, format string, args ...any) {
	if d.err == nil {
		d.err = at.Errorf(format, args...)
	}
}

func (d *decoder) mistake(at Place, kind MistakeKind, format string, args ...any) {
	if len(d.s.Mistakes) < most {
		d.s.Mistakes = append(d.s.Mistakes, Mistake{at, kind, fmt.Sprintf(format, args...)})
	}
}

// entry is a row that is being read.
type entry struct {
	*decoder
	Place
	row
}

func (e *entry) at(field string) Place {
	p := e.Place
	p.Field = field
	return p
}

// text returns a field; of several of one name the last.
func (e *entry) text(name string) (string, bool) {
	for i := len(e.fields) - 1; i >= 0; i-- {
		f := &e.fields[i]
		if f.name != name {
			continue
		}
		return e.valueOf(f)
	}
	return "", false
}

func (e *entry) valueOf(f *field) (string, bool) {
	if f.wrong != "" {
		e.fail(e.at(f.name), "is %s; allowed: text, as all values of the configuration", f.wrong)
		return "", false
	}
	return f.value, true
}

// word returns a field that is one of some words, in the spelling of the list.
func (e *entry) word(name string, allowed ...string) string {
	v, ok := e.text(name)
	if !ok {
		return ""
	}
	for _, a := range allowed {
		if strings.EqualFold(strings.TrimSpace(v), a) {
			return a
		}
	}
	e.fail(e.at(name), "is %q; allowed: %s", shorten(v), strings.Join(allowed, ", "))
	return ""
}

// largest is the largest number that is taken anywhere: sums of many stay sums.
const largest = 1 << 48

// number returns a field that is a whole number. One that is out of its range is
// a mistake, and stays what it is.
func (e *entry) number(name string, low, high int64) (int64, bool) {
	v, ok := e.text(name)
	if !ok {
		return 0, false
	}
	return e.numberIn(name, v, low, high)
}

// numberIn reads the text of a field as number does.
func (e *entry) numberIn(name, v string, low, high int64) (int64, bool) {
	trimmed := strings.TrimSpace(v)
	n, err := strconv.ParseInt(trimmed, 10, 64)
	if err != nil || n > largest || n < -largest {
		e.fail(e.at(name), "is %q; allowed: a whole number from %d to %d", shorten(v), low, high)
		return 0, false
	}
	if trimmed != v {
		e.mistake(e.at(name), Odd, "is %q: a number with blanks around it", shorten(v))
	}
	if n < low || n > high {
		if n < 0 && low >= 0 {
			e.fail(e.at(name), "is %d; allowed: %d to %d", n, low, high)
		}
		e.mistake(e.at(name), Dangling, "is %d; allowed: %d to %d", n, low, high)
	}
	return n, true
}

func (e *entry) bytes(name string) (units.Bytes, bool) {
	n, ok := e.number(name, 0, largest)
	return units.Bytes(n), ok
}

func (e *entry) flag(name, yes, no string) bool { return e.word(name, yes, no) == yes }

// refer returns the name in a reference to a table.
func (e *entry) refer(text, name, table string) string {
	in, to := reference(text)
	at := e.at(name)
	switch {
	case in == "" && e.newForm == nil:
		e.newForm = &at
	case in != "" && e.oldForm == nil:
		e.oldForm = &at
	}
	if in != "" && in != table {
		e.mistake(at, Dangling, "refers to table %s; allowed: %s", shorten(in), table)
	}
	return to
}

// lookUp follows the reference of a field; nil: there is none, or it refers to nothing.
func lookUp[T any](e *entry, name, table string, known map[string]*T) *T {
	v, ok := e.text(name)
	if !ok || strings.TrimSpace(v) == "" {
		return nil
	}
	to := e.refer(v, name, table)
	if known[to] == nil {
		e.mistake(e.at(name), Dangling, "refers to %s, but %s has no %s", shorten(v), table, shorten(to))
	}
	return known[to]
}

// priorities reads a list such as 3,4.
func (e *entry) priorities(name string) (Set, bool) {
	v, ok := e.text(name)
	if !ok {
		return 0, false
	}
	var set Set
	for _, word := range strings.Split(v, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		k, err := strconv.Atoi(word)
		if err != nil || k < 0 || k >= Classes {
			e.fail(e.at(name), "is %q; allowed: priorities 0 to 7, with commas", shorten(v))
			return 0, true
		}
		set |= 1 << k
	}
	return set, true
}

// ports returns those that a key, or its part, names.
func (e *entry) ports(text string) []*Port {
	var list []*Port
	for _, name := range portsOf(text) {
		p := e.s.port[name]
		if p == nil {
			e.mistake(e.Place, Dangling, "there is no port %q in table PORT", shorten(name))
			continue
		}
		list = append(list, p)
	}
	return list
}

// indexed returns ports and indices of a key such as Ethernet0,Ethernet4|3-4.
func (e *entry) indexed(count int) ([]*Port, span) {
	parts := strings.Split(e.key, "|")
	switch len(parts) {
	case 2:
	case 4: // virtual output queues: host, asic, port, queue
		host, asic := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		if host != e.s.Name || e.s.Asic != "" && !strings.EqualFold(asic, e.s.Asic) {
			e.s.Elsewhere++
			return nil, span{}
		}
		parts = parts[2:]
	default:
		e.fail(e.Place, "is no key; allowed: PORT|INDEX, or HOST|ASIC|PORT|INDEX")
		return nil, span{}
	}
	s, backwards, err := indices(parts[1], count)
	if err != nil {
		e.fail(e.Place, "%v", err)
		return nil, span{}
	}
	if backwards {
		e.mistake(e.Place, Malformed, "the range %s does not rise", shorten(parts[1]))
	}
	return e.ports(parts[0]), s
}

// overlap is a mistake: which of two entries holds depends on the order in which
// the switch sees them.
func (e *entry) overlap(p *Port, i int, before Place) {
	e.mistake(e.Place, Malformed, "%s|%d stands in %s, too: which of them holds is chance", p.Name, i, shorten(before.Key))
}
