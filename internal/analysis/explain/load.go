package explain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// ErrNotRecorded is returned for results without the tables of a Recorder.
var ErrNotRecorded = errors.New("the run was not recorded for xoff explain")

// Run is a recorded run: its results and the tables of a Recorder.
type Run struct {
	folder  string
	Summary *metrics.Summary
	config  *scenario.Config
	names   []string
	numbers map[string]int
	ports   [][]port // by node
	frames  []row    // in order of time
	flows   []flow
	acked   map[int]ack
	drops   []drop
	pauses  []pause
	faults  []fault
	end     units.Time

	progress  func(share float64)
	congested []int32           // see rootPorts; nil until it is needed
	dropsOf   map[int32][]int32 // by flow: indices in drops, in order of time; nil until it is needed
}

// port is one end of a link.
type port struct {
	peer, peerPort int
	rate           units.Rate
	delay          units.Time
	overhead       units.Bytes
	tick           units.Time
	host           bool
	ecn            units.Bytes // queue length above which frames are marked; -1: never
	cell, packet   units.Bytes // accounting unit of the node's buffer, and its overhead per frame
	sent           []int32     // frames that departed, in order of time
	waiting        []int32     // frames that still waited at the end of the run
	blocked        [mmu.Classes][]span
	pauses         [mmu.Classes][]int // indices in Run.pauses of the pauses that it sent
}

// span is a time span in which an egress queue was blocked.
type span struct {
	from, to units.Time
	by       int // index of the pause; -1: unknown
}

// row is a row of the frames table: a frame that departed, or waited at the end of the run.
type row struct {
	at, came, since, cause units.Time // none: unknown
	flow                   int32      // -1: none
	seq                    uint32
	node                   int32
	port, in               int16 // in: -1 at a host
	size                   uint16
	kind                   packet.Kind
	class, queue           uint8
	why                    why
	ce, departed           bool
}

// none is an unknown time.
const none = units.Time(probe.Null)

// flow is a flow of the run.
type flow struct {
	workload     string
	src, dst     int
	class        uint8
	size         units.Bytes
	start, fct   units.Time // fct: none if it did not finish
	ideal        units.Time
	group        int64
	sent         []int32 // data packets that left the source
	neverStarted bool    // it has no row in the flows table
}

// ack is the completion of a flow, and the arrival of the frame that completed it.
type ack struct{ at, came units.Time }

// drop is a dropped frame.
type drop struct {
	at                                 units.Time
	node, port, out                    int // out: egress whose queue had no room; -1: unknown
	class                              uint8
	flow                               int // -1: none
	kind                               packet.Kind
	seq                                uint32
	reason                             probe.Reason
	queue, threshold, headroom, stored units.Bytes // threshold: -1 if there is none
	reserved                           units.Bytes // headroom of the port
}

// fault is a fault of the scenario.
type fault struct {
	what           string
	node, port     int // port: -1 for a fault of a host
	peer, peerPort int
	from, to       units.Time
}

// Open reads a recorded run. It returns ErrNotRecorded if the folder has results only.
func Open(folder string) (*Run, error) {
	s, err := metrics.ReadSummary(folder)
	if err != nil {
		return nil, err
	}
	return Load(folder, s, nil)
}

// Recorded reports whether a folder contains a recorded run.
func Recorded(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, framesTable+".parquet"))
	return err == nil
}

// Load is Open for callers that have read the summary already. It calls progress, unless that is
// nil, with the finished share of loading the run and of an Explain after it.
func Load(folder string, s *metrics.Summary, progress func(share float64)) (*Run, error) {
	if !Recorded(folder) {
		return nil, ErrNotRecorded
	}
	r := &Run{folder: folder, Summary: s, end: s.End, numbers: make(map[string]int), acked: make(map[int]ack), progress: progress}
	if progress == nil {
		r.progress = func(float64) {}
	}
	var err error
	if r.config, err = scenario.ReadFile(filepath.Join(folder, "scenario.resolved.yaml")); err != nil {
		return nil, err
	}
	for _, load := range []func() error{r.loadLinks, r.loadFlows, r.loadFrames, r.loadFaults, r.loadEvents} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// table is a table in memory, by column.
type table struct {
	path  string
	ints  map[string][]int64
	texts map[string][]int32  // indices in words
	words map[string][]string // distinct texts
}

func (r *Run) table(name string, ints, texts []string) (*table, error) {
	t := &table{path: filepath.Join(r.folder, name+".parquet"), ints: make(map[string][]int64), texts: make(map[string][]int32),
		words: make(map[string][]string)}
	list, err := metrics.ReadInts(t.path, ints...)
	if err != nil {
		return nil, err
	}
	for i, n := range ints {
		t.ints[n] = list[i]
	}
	for _, n := range texts {
		if t.texts[n], t.words[n], err = metrics.ReadTexts(t.path, n); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// indices returns a text column as indices in known.
func (t *table) indices(column string, known []string) ([]int32, error) {
	rows := slices.Clone(t.texts[column])
	return rows, translate(t.path, column, rows, t.words[column], known)
}

// translate replaces indices in words by indices in known.
func translate(path, column string, rows []int32, words, known []string) error {
	numbers := make(map[string]int32, len(known))
	for i, w := range known {
		numbers[w] = int32(i)
	}
	index := make([]int32, len(words))
	for i, w := range words {
		at, ok := numbers[w]
		if !ok {
			return fmt.Errorf("%s: unknown value in column %s: %q (expected a file written by this version of xoff)", path, column, w)
		}
		index[i] = at
	}
	for i, k := range rows {
		if k >= 0 {
			rows[i] = index[k]
		}
	}
	return nil
}

func (r *Run) loadLinks() error {
	t, err := r.table(linksTable, []string{"port", "peer_port", "rate_bps", "delay_ps", "overhead_bytes", "tick_ps", "host", "ecn_bytes", "cell_bytes", "packet_bytes"},
		[]string{"node", "peer"})
	if err != nil {
		return err
	}
	nodes := t.words["node"] // every node has a link
	for i, n := range nodes {
		r.numbers[n] = i
	}
	r.names, r.ports = nodes, make([][]port, len(nodes))
	peers, err := t.indices("peer", nodes)
	if err != nil {
		return err
	}
	for i, n := range t.texts["node"] {
		at := int(t.ints["port"][i])
		for len(r.ports[n]) <= at {
			r.ports[n] = append(r.ports[n], port{peer: -1})
		}
		p := port{
			peer: int(peers[i]), peerPort: int(t.ints["peer_port"][i]), rate: units.Rate(t.ints["rate_bps"][i]),
			delay: units.Time(t.ints["delay_ps"][i]), overhead: units.Bytes(t.ints["overhead_bytes"][i]),
			tick: units.Time(t.ints["tick_ps"][i]), host: t.ints["host"][i] != 0, ecn: -1,
			cell: units.Bytes(t.ints["cell_bytes"][i]), packet: units.Bytes(t.ints["packet_bytes"][i]),
		}
		if e := t.ints["ecn_bytes"][i]; e != probe.Null {
			p.ecn = units.Bytes(e)
		}
		r.ports[n][at] = p
	}
	return nil
}

func (r *Run) loadFlows() error {
	t, err := r.table("flows", []string{"id", "class", "size_bytes", "start_ps", "fct_ps", "ideal_ps", "group"}, []string{"workload", "src", "dst"})
	if err != nil {
		return err
	}
	src, err := t.indices("src", r.names)
	if err != nil {
		return err
	}
	dst, err := t.indices("dst", r.names)
	if err != nil {
		return err
	}
	for i, id := range t.ints["id"] {
		for int64(len(r.flows)) < id { // a flow that never started has no row
			r.flows = append(r.flows, flow{ideal: 1, fct: none, neverStarted: true})
		}
		r.flows = append(r.flows, flow{
			workload: t.words["workload"][t.texts["workload"][i]], src: int(src[i]), dst: int(dst[i]), class: uint8(t.ints["class"][i]),
			size: units.Bytes(t.ints["size_bytes"][i]), start: units.Time(t.ints["start_ps"][i]), fct: units.Time(t.ints["fct_ps"][i]),
			ideal: units.Time(t.ints["ideal_ps"][i]), group: t.ints["group"][i],
		})
	}
	return nil
}

// loadFrames reads one column at a time, because a decoded column needs more memory than what
// is kept of it.
func (r *Run) loadFrames() error {
	path := filepath.Join(r.folder, framesTable+".parquet")
	n, err := metrics.ReadRows(path)
	if err != nil {
		return err
	}
	r.frames = make([]row, n)
	time := func(of func(f *row) *units.Time) func(*row, int64) {
		return func(f *row, v int64) { *of(f) = units.Time(v) }
	}
	columns := []struct {
		name  string
		words []string // values of a text column; nil: integers
		set   func(f *row, v int64)
	}{
		{"time_ps", nil, time(func(f *row) *units.Time { return &f.at })},
		{"came_ps", nil, time(func(f *row) *units.Time { return &f.came })},
		{"since_ps", nil, time(func(f *row) *units.Time { return &f.since })},
		{"cause_ps", nil, time(func(f *row) *units.Time { return &f.cause })},
		{"flow", nil, func(f *row, v int64) { f.flow = int32(orMinusOne(v)) }},
		{"seq", nil, func(f *row, v int64) { f.seq = uint32(v) }},
		{"node", r.names, func(f *row, v int64) { f.node = int32(v) }},
		{"port", nil, func(f *row, v int64) { f.port = int16(v) }},
		{"in", nil, func(f *row, v int64) { f.in = int16(orMinusOne(v)) }},
		{"size", nil, func(f *row, v int64) { f.size = uint16(v) }},
		{"kind", packet.KindNames(), func(f *row, v int64) { f.kind = packet.Kind(v) }},
		{"class", nil, func(f *row, v int64) { f.class = uint8(v) }},
		{"queue", nil, func(f *row, v int64) { f.queue = uint8(v) }},
		{"why", whyNames[:], func(f *row, v int64) { f.why = why(max(0, v)) }},
		{"ce", nil, func(f *row, v int64) { f.ce = v != 0 }},
		{"left", nil, func(f *row, v int64) { f.departed = v != 0 }},
	}
	for k, c := range columns {
		i := 0
		use := func(v int64) {
			if i&(progressRows-1) == 0 {
				r.progress(loadShare * (float64(k) + float64(i)/float64(n)) / float64(len(columns)))
			}
			c.set(&r.frames[i], v)
			i++
		}
		if err := eachOf(path, c.name, c.words, use); err != nil {
			return err
		}
	}
	r.indexFrames()
	return nil
}

// Reading frames takes about loadShare of the time of an explanation; progress is reported every
// progressRows values.
const (
	loadShare    = 0.7
	progressRows = 1 << 18
)

// indexFrames lists the frames of each port and flow. It counts them first, because growing the
// lists would need twice the memory.
func (r *Run) indexFrames() {
	sent := make([][]int, len(r.ports))
	for node := range r.ports {
		sent[node] = make([]int, len(r.ports[node]))
	}
	data := make([]int, len(r.flows))
	for i := range r.frames {
		f := &r.frames[i]
		if !f.departed {
			continue
		}
		sent[f.node][f.port]++
		if f.kind == packet.Data && r.ports[f.node][f.port].host {
			data[f.flow]++
		}
	}
	for node := range r.ports {
		for at := range r.ports[node] {
			r.ports[node][at].sent = make([]int32, 0, sent[node][at])
		}
	}
	for i, n := range data {
		r.flows[i].sent = make([]int32, 0, n)
	}
	for i := range r.frames {
		f := &r.frames[i]
		p := &r.ports[f.node][f.port]
		if !f.departed {
			p.waiting = append(p.waiting, int32(i))
			continue
		}
		p.sent = append(p.sent, int32(i))
		if p.host && f.kind == packet.Data {
			r.flows[f.flow].sent = append(r.flows[f.flow].sent, int32(i))
		}
	}
}

// eachOf calls use for every row of a column. With words, it is a text column and v is an
// index in words, or -1.
func eachOf(path, column string, words []string, use func(v int64)) error {
	if words == nil {
		return metrics.EachInt(path, column, use)
	}
	return metrics.EachText(path, column, words, use)
}

func (r *Run) loadFaults() error {
	t, err := r.table(faultsTable, []string{"port", "peer_port", "from_ps", "to_ps"}, []string{"fault", "node", "peer"})
	if err != nil {
		return err
	}
	nodes, err := t.indices("node", r.names)
	if err != nil {
		return err
	}
	peers, err := t.indices("peer", r.names)
	if err != nil {
		return err
	}
	for i := range nodes {
		f := fault{what: t.words["fault"][t.texts["fault"][i]], node: int(nodes[i]), port: -1, peer: int(peers[i]), peerPort: -1,
			from: units.Time(t.ints["from_ps"][i]), to: units.Never}
		if v := t.ints["to_ps"][i]; v != probe.Null {
			f.to = units.Time(v)
		}
		if v := t.ints["port"][i]; v != probe.Null {
			f.port, f.peerPort = int(v), int(t.ints["peer_port"][i])
		}
		r.faults = append(r.faults, f)
	}
	return nil
}

// takes returns the serialisation time of a frame at a port.
func (p *port) takes(size uint16) units.Time {
	return link.TxTime(p.rate, units.Bytes(size)+p.overhead, p.tick)
}

// cells returns the buffer bytes that a frame costs, as mmu.Ledger.Cells counts them.
func (p *port) cells(size uint16) units.Bytes {
	unit := max(1, p.cell)
	return (units.Bytes(size)+unit-1)/unit*unit + p.packet
}

// arrives returns when the last bit of a frame that departed from p reaches the peer.
func (p *port) arrives(f *row) units.Time { return f.at + p.takes(f.size) + p.delay }

// before returns the index of the frame of a flow that arrived at a port at the given time, or
// -1.
func (r *Run) before(node, at int, came units.Time, flow int32) int32 {
	here := &r.ports[node][at]
	from := &r.ports[here.peer][here.peerPort]
	i := sort.Search(len(from.sent), func(i int) bool { return from.arrives(&r.frames[from.sent[i]]) >= came })
	for ; i < len(from.sent); i++ {
		f := &r.frames[from.sent[i]]
		switch {
		case from.arrives(f) != came:
			return -1
		case f.flow == flow:
			return from.sent[i]
		}
	}
	return -1
}

// portName names a port by its peer, or by its number if several ports lead to that peer.
func (r *Run) portName(node, at int) string {
	same := 0
	for i := range r.ports[node] {
		if r.ports[node][i].peer == r.ports[node][at].peer {
			same++
		}
	}
	if same > 1 || r.ports[node][at].peer < 0 {
		return fmt.Sprintf("%s.port%d", r.names[node], at)
	}
	return r.names[node] + ".to-" + r.names[r.ports[node][at].peer]
}

// Frames returns the number of recorded frames of a run.
func Frames(folder string) (int64, error) {
	return metrics.ReadRows(filepath.Join(folder, framesTable+".parquet"))
}
