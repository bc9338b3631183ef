package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// maxMistakes is the number of mistakes kept per switch.
const maxMistakes = 200

// decoder turns tables into a Switch.
type decoder struct {
	s          *Switch
	err        error // first error
	pools      map[string]*Pool
	profiles   map[string]*Profile
	schedulers map[string]*Scheduler
	wreds      map[string]*WRED
	maps       map[string]map[string]*Map // by table and name
	// oldForm and newForm locate the first reference with and without brackets.
	oldForm, newForm *Location
}

// reader reads the rows of a table.
type reader struct {
	table   string
	read    func(*decoder, *entry)
	maxRows int // limit of rows
}

// readers has the known tables by name.
var readers = map[string]reader{}

// tableOrder is the order in which tables are read: referenced tables come first.
var tableOrder = []reader{
	{"DEVICE_METADATA", (*decoder).metadata, maxNamed},
	{"PORT", (*decoder).portRow, maxNamed},
	{"CABLE_LENGTH", (*decoder).cables, maxNamed},
	{"BUFFER_POOL", (*decoder).pool, maxNamed},
	{"BUFFER_PROFILE", (*decoder).profile, maxNamed},
	{"BUFFER_PG", (*decoder).pg, maxRows},
	{"BUFFER_QUEUE", (*decoder).queue, maxRows},
	{"BUFFER_PORT_INGRESS_PROFILE_LIST", (*decoder).profileList, maxNamed},
	{"BUFFER_PORT_EGRESS_PROFILE_LIST", (*decoder).profileList, maxNamed},
	{"DEFAULT_LOSSLESS_BUFFER_PARAMETER", (*decoder).defaults, maxNamed},
	{"LOSSLESS_TRAFFIC_PATTERN", (*decoder).pattern, maxNamed},
	{dscpTable, (*decoder).numberMap, maxNamed},
	{dot1pTable, (*decoder).numberMap, maxNamed},
	{tcQueueTable, (*decoder).numberMap, maxNamed},
	{tcPGTable, (*decoder).numberMap, maxNamed},
	{pfcQueueTable, (*decoder).numberMap, maxNamed},
	{pfcPGTable, (*decoder).numberMap, maxNamed},
	{"SCHEDULER", (*decoder).scheduler, maxNamed},
	{"WRED_PROFILE", (*decoder).wred, maxNamed},
	{"PORT_QOS_MAP", (*decoder).qos, maxNamed},
	{"QUEUE", (*decoder).queueService, maxRows},
	{"PFC_WD", (*decoder).watchdog, maxNamed},
	{"DEVICE_NEIGHBOR", (*decoder).neighbour, maxNamed},
	{lldpTable, (*decoder).lldp, maxNamed},
}

// Names of the map tables and of the LLDP table.
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
	for _, o := range tableOrder {
		readers[o.table] = o
	}
}

// decode turns the tables of a switch into a Switch.
func decode(t *tables) (*Switch, error) {
	d := &decoder{
		s:     &Switch{File: t.file, Maps: map[string][]*Map{}, port: map[string]*Port{}},
		pools: map[string]*Pool{}, profiles: map[string]*Profile{}, schedulers: map[string]*Scheduler{}, wreds: map[string]*WRED{},
		maps: map[string]map[string]*Map{},
	}
	d.s.Pattern.MTU, d.s.Pattern.Small = 1024, 50
	for _, o := range tableOrder {
		for _, r := range mergeRows(t.rows[o.table]) {
			o.read(d, &entry{decoder: d, Location: Location{t.file, o.table, r.key, ""}, row: r})
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
	if d.s.Name == "" {
		d.s.Name = nameOf(strings.TrimSuffix(t.file, ": "+t.asic))
	}
	if t.asic != "" {
		d.s.Name += "-" + t.asic
	}
	return d.s, nil
}

// finish sorts all lists by name and reports mixed forms of references.
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
		d.mistake(*d.oldForm, Unportable, "the reference is in brackets, [TABLE|name], but %s is a bare name: no release accepts both", *d.newForm)
	}
}

// mergeRows joins rows with the same key: a later part adds or replaces fields.
func mergeRows(rows []row) []row {
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

func (d *decoder) fail(at Location, format string, args ...any) {
	if d.err == nil {
		d.err = at.Errorf(format, args...)
	}
}

func (d *decoder) mistake(at Location, kind MistakeKind, format string, args ...any) {
	if len(d.s.Mistakes) < maxMistakes {
		d.s.Mistakes = append(d.s.Mistakes, Mistake{at, kind, fmt.Sprintf(format, args...)})
	}
}

// entry is a row that is being read.
type entry struct {
	*decoder
	Location
	row
}

func (e *entry) at(field string) Location {
	p := e.Location
	p.Field = field
	return p
}

// text returns a field; if it is repeated, the last value.
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
	if f.wrongType != "" {
		e.fail(e.at(f.name), "value is %s (expected a string)", f.wrongType)
		return "", false
	}
	return f.value, true
}

// word returns a field whose value is one of the allowed words, in their spelling.
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
	e.fail(e.at(name), "unknown value %q (allowed: %s)", shorten(v), strings.Join(allowed, ", "))
	return ""
}

// maxNumber is the largest number accepted anywhere: sums of many cannot overflow.
const maxNumber = 1 << 48

// number returns a field that is a whole number. A number out of range is recorded as
// a mistake and returned unchanged.
func (e *entry) number(name string, low, high int64) (int64, bool) {
	v, ok := e.text(name)
	if !ok {
		return 0, false
	}
	return e.numberIn(name, v, low, high)
}

// numberIn parses the value of a field like number.
func (e *entry) numberIn(name, v string, low, high int64) (int64, bool) {
	trimmed := strings.TrimSpace(v)
	n, err := strconv.ParseInt(trimmed, 10, 64)
	if err != nil || n > maxNumber || n < -maxNumber {
		e.fail(e.at(name), "%q is not a whole number (expected %d to %d)", shorten(v), low, high)
		return 0, false
	}
	if trimmed != v {
		e.mistake(e.at(name), Unportable, "the number %q has blanks around it", shorten(v))
	}
	if n < low || n > high {
		if n < 0 && low >= 0 {
			e.fail(e.at(name), "%d is out of range (expected %d to %d)", n, low, high)
		}
		e.mistake(e.at(name), Dangling, "%d is out of range (expected %d to %d)", n, low, high)
	}
	return n, true
}

func (e *entry) bytes(name string) (units.Bytes, bool) {
	n, ok := e.number(name, 0, maxNumber)
	return units.Bytes(n), ok
}

func (e *entry) flag(name, yes, no string) bool { return e.word(name, yes, no) == yes }

// referenceName returns the name in a reference to a table.
func (e *entry) referenceName(text, name, table string) string {
	in, to := reference(text)
	at := e.at(name)
	switch {
	case in == "" && e.newForm == nil:
		e.newForm = &at
	case in != "" && e.oldForm == nil:
		e.oldForm = &at
	}
	if in != "" && in != table {
		e.mistake(at, Dangling, "refers to table %s (expected %s)", shorten(in), table)
	}
	return to
}

// resolve follows the reference in a field. It returns nil if there is no reference or
// no such entry.
func resolve[T any](e *entry, name, table string, known map[string]*T) *T {
	v, ok := e.text(name)
	if !ok || strings.TrimSpace(v) == "" {
		return nil
	}
	to := e.referenceName(v, name, table)
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
			e.fail(e.at(name), "%q is not a list of priorities (expected 0 to 7, separated by commas)", shorten(v))
			return 0, true
		}
		set |= 1 << k
	}
	return set, true
}

// ports returns the ports named in a key or in part of one.
func (e *entry) ports(text string) []*Port {
	var list []*Port
	for _, name := range portsOf(text) {
		p := e.s.port[name]
		if p == nil {
			e.mistake(e.Location, Dangling, "table PORT has no port %q", shorten(name))
			continue
		}
		list = append(list, p)
	}
	return list
}

// indexed returns the ports and indices of a key such as Ethernet0,Ethernet4|3-4.
func (e *entry) indexed(count int) ([]*Port, span) {
	parts := strings.Split(e.key, "|")
	switch len(parts) {
	case 2:
	case 4: // virtual output queues: host, asic, port, queue
		host, asic := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		if host != e.s.Name || e.s.Asic != "" && !strings.EqualFold(asic, e.s.Asic) {
			e.s.RemoteQueues++
			return nil, span{}
		}
		parts = parts[2:]
	default:
		e.fail(e.Location, "malformed key (expected PORT|INDEX or HOST|ASIC|PORT|INDEX)")
		return nil, span{}
	}
	s, backwards, err := indices(parts[1], count)
	if err != nil {
		e.fail(e.Location, "%v", err)
		return nil, span{}
	}
	if backwards {
		e.mistake(e.Location, Malformed, "the range %s does not increase", shorten(parts[1]))
	}
	return e.ports(parts[0]), s
}

// overlap records that two entries cover the same index. The order in which the switch
// sees them decides which one applies.
func (e *entry) overlap(p *Port, i int, before Location) {
	e.mistake(e.Location, Malformed, "%s also covers %s|%d: it is undefined which entry applies", shorten(before.Key), p.Name, i)
}
