package publicsim

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Case is the input and output of the public simulator for a folder and an algorithm.
type Case struct {
	Folder    string
	Algorithm string
	In        *Input
	Ref       *Reference
}

// Reference has the results of the public simulator for a case.
type Reference struct {
	Done      []Done         // completed flows of the first run
	Runs      int            // number of runs with different random numbers
	Unmatched int            // flows that only one of the first and another run completed
	Random    bool           // results depend on random numbers
	Low       Slowdowns      // range over the runs, if Random
	High      Slowdowns      // range over the runs, if Random
	Pauses    Optional[int]  // PAUSE frames that nodes sent in the first run
	Range     Optional[span] // range of Pauses over the runs
}

// span is an inclusive range of counts.
type span struct{ Low, High int }

// OpenFolder reads a reference folder: topology.txt, flow.txt, and for each algorithm a
// folder with config.txt and fct.txt. Optional files there are pfc.txt, routes.txt, and
// fct-runK.txt and pfc-runK.txt of runs with other random numbers.
func OpenFolder(folder string) ([]*Case, error) {
	var algorithms []string
	for _, file := range []string{"config.txt", "fct.txt"} { // if one of them exists, both must
		names, err := filepath.Glob(filepath.Join(folder, "*", file))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			algorithms = append(algorithms, filepath.Base(filepath.Dir(n)))
		}
	}
	slices.Sort(algorithms)
	var list []*Case
	for _, a := range slices.Compact(algorithms) {
		c, err := openCase(filepath.Clean(folder), a)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no reference (expected topology.txt, flow.txt and ALGORITHM/{config.txt,fct.txt})", filepath.Clean(folder))
	}
	return list, nil
}

func openCase(folder, algorithm string) (*Case, error) {
	dir := filepath.Join(folder, algorithm)
	in, err := Read(filepath.Join(dir, "config.txt"))
	if err != nil {
		return nil, err
	}
	r := &Reference{}
	if r.Done, err = ReadFCT(filepath.Join(dir, "fct.txt")); err != nil {
		return nil, err
	}
	if err := r.readRuns(dir); err != nil {
		return nil, err
	}
	if err := r.readPauses(dir); err != nil {
		return nil, err
	}
	c := &Case{filepath.Base(folder), algorithm, in, r}
	return c, c.addKnownRange()
}

// readRuns reads the results of runs with other random numbers.
func (r *Reference) readRuns(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "fct-run*.txt"))
	if err != nil {
		return err
	}
	r.Runs = 1 + len(names)
	all := []Slowdowns{slowdowns(r.Done)}
	for _, name := range names {
		run, err := ReadFCT(name)
		if err != nil {
			return err
		}
		r.Random = r.Random || !slices.Equal(run, r.Done)
		r.Unmatched += unmatched(run, r.Done)
		all = append(all, slowdowns(run))
	}
	r.Low, r.High = rangeOf(all)
	return nil
}

// readPauses counts the pauses in traces, if there are any.
func (r *Reference) readPauses(dir string) error {
	list, err := ReadPFC(filepath.Join(dir, "pfc.txt"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	n := countPauses(list)
	r.Pauses = Optional[int]{n, true}
	names, err := filepath.Glob(filepath.Join(dir, "pfc-run*.txt"))
	if err != nil || len(names) == 0 {
		return err
	}
	low, high := n, n
	for _, name := range names {
		list, err := ReadPFC(name)
		if err != nil {
			return err
		}
		low, high = min(low, countPauses(list)), max(high, countPauses(list))
	}
	r.Range = Optional[span]{span{low, high}, true}
	return nil
}

// addKnownRange takes the range of pauses from the built-in reference of the same run, if
// the folder has none. It compares the contents of inputs and results, never names.
func (c *Case) addKnownRange() error {
	if c.Ref.Range.Given || !c.Ref.Random {
		return nil
	}
	known, err := Builtin()
	if err != nil {
		return err
	}
	mine := c.In.fingerprint()
	for _, k := range known {
		if k.Algorithm == c.Algorithm && k.In.fingerprint() == mine && k.Ref.Pauses == c.Ref.Pauses &&
			countExact(k.Ref.Done, c.Ref.Done) == len(c.Ref.Done) {
			c.Ref.Range = k.Ref.Range
		}
	}
	return nil
}

// fingerprint hashes the contents of the input, independent of the files' formatting.
func (in *Input) fingerprint() [sha256.Size]byte {
	s := in.Settings
	text := fmt.Sprintln(in.Fabric.Switch, in.Fabric.Links, in.Flows, s.Payload, s.BufferMB, s.Stop >= units.Second,
		s.ErrorRate, s.AckEvery, s.AckFirst, s.ECN, s.Marks,
		s.AlphaEvery, s.CutEvery, s.RiseEvery, s.G, s.FastSteps, s.AI, s.HAI, s.MinRate, s.Clamp, s.Target, s.Stages)
	return sha256.Sum256([]byte(text))
}

//go:embed references/*.txt
var references embed.FS

// Builtin returns the compact references that are part of xoff.
func Builtin() ([]*Case, error) {
	names, err := fs.Glob(references, "references/*.txt")
	if err != nil {
		return nil, err
	}
	var list []*Case
	for _, name := range names {
		data, err := references.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := split(name, data)
		if err != nil {
			return nil, err
		}
		cases, err := parseCompact(t, strings.TrimSuffix(filepath.Base(name), ".txt"))
		if err != nil {
			return nil, err
		}
		list = append(list, cases...)
	}
	return list, nil
}

// compactOrder has the algorithms of a compact reference in the order of its columns.
var compactOrder = []string{"hpcc", "powertcp", "dcqcn"}

// parseCompact parses a compact reference: lines that begin with a word state facts, all
// others are flows.
func parseCompact(t *text, name string) ([]*Case, error) {
	in := &Input{Settings: defaults(t.file)}
	in.Settings.Stop = 2 * units.Second
	in.Settings.ECN = []Marking{{Rate: 100 * units.Gbps, Kmin: 400_000, Kmax: 1_600_000, Pmax: 0.2}}
	refs := make(map[string]*Reference)
	cases := make([]*Case, len(compactOrder))
	for i, a := range compactOrder {
		refs[a] = &Reference{Runs: 1}
		cases[i] = &Case{name, a, in, refs[a]}
	}
	earlier := make(map[[2]int]int)
	for _, line := range t.lines {
		var err error
		if line[0].text[0] < '0' || line[0].text[0] > '9' {
			err = parseFact(t, line, in, refs)
		} else {
			err = parseCompactFlow(t, line, in, refs, earlier)
		}
		if err != nil {
			return nil, err
		}
	}
	return cases, nil
}

// numbers parses count words of a line, starting at from.
func (t *text) numbers(line []word, from, count int) ([]int, error) {
	if len(line) < from+count {
		return nil, t.fail(line[0], "the line has %d words (expected %d)", len(line), from+count)
	}
	var v []int
	for _, w := range line[from : from+count] {
		n, err := t.number(w, "field", 0, 1<<40)
		if err != nil {
			return nil, err
		}
		v = append(v, int(n))
	}
	return v, nil
}

func parseFact(t *text, line []word, in *Input, refs map[string]*Reference) error {
	key := line[0].text
	switch {
	case len(line) > 2 && key == "fabric" && line[1].text == "star":
		v, err := t.numbers(line, 2, 1)
		if err == nil {
			in.Fabric = star(v[0])
		}
		return err
	case len(line) > 2 && key == "fabric" && line[1].text == "leaf-spine":
		v, err := t.numbers(line, 2, 3)
		if err == nil {
			in.Fabric = leafSpine(v[0], v[1], v[2])
		}
		return err
	case key == "buffer":
		v, err := t.numbers(line, 1, 1)
		if err == nil {
			in.Settings.BufferMB = int64(v[0])
		}
		return err
	}
	if len(line) < 3 || refs[line[1].text] == nil {
		return t.fail(line[0], "unknown fact (expected fabric, buffer, or runs, pauses or range with one of %v)", compactOrder)
	}
	r := refs[line[1].text]
	switch key {
	case "runs":
		v, err := t.numbers(line, 2, 1)
		if err == nil {
			r.Runs = v[0]
		}
		return err
	case "pauses":
		v, err := t.numbers(line, 2, len(line)-2)
		if err != nil {
			return err
		}
		r.Pauses = Optional[int]{v[0], true}
		if len(v) == 3 {
			r.Range = Optional[span]{span{v[1], v[2]}, true}
		}
		return nil
	case "range":
		return r.parseRange(t, line)
	}
	return t.fail(line[0], "unknown fact %q", key)
}

func (r *Reference) parseRange(t *text, line []word) error {
	if len(line) != 5 {
		return t.fail(line[0], "a range has %d words (expected 5)", len(line))
	}
	low, high := map[string]*float64{"mean": &r.Low.Mean, "p50": &r.Low.P50, "p95": &r.Low.P95, "p99": &r.Low.P99}[line[2].text],
		map[string]*float64{"mean": &r.High.Mean, "p50": &r.High.P50, "p95": &r.High.P95, "p99": &r.High.P99}[line[2].text]
	if low == nil {
		return t.fail(line[2], "unknown statistic %q", line[2].text)
	}
	r.Random = true
	for i, to := range []*float64{low, high} {
		v, err := strconv.ParseFloat(line[3+i].text, 64)
		if err != nil || math.IsNaN(v) {
			return t.fail(line[3+i], "%q is not a number", line[3+i].text)
		}
		*to = v
	}
	return nil
}

func parseCompactFlow(t *text, line []word, in *Input, refs map[string]*Reference, earlier map[[2]int]int) error {
	v, err := t.numbers(line, 0, 5+len(compactOrder))
	if err != nil {
		return err
	}
	f := Flow{Src: v[0], Dst: v[1], Class: 3, DstPort: v[2], Size: units.Bytes(v[3]), Start: units.Time(v[4]) * units.Nanosecond}
	pair := [2]int{f.Src, f.Dst}
	f.SrcPort = firstPort + earlier[pair]
	earlier[pair]++
	in.Flows = append(in.Flows, f)
	for i, a := range compactOrder {
		refs[a].Done = append(refs[a].Done, Done{f.Src, f.Dst, f.SrcPort, f.DstPort, f.Size, f.Start,
			units.Time(v[5+i]) * units.Nanosecond, in.alone(&f)})
	}
	return nil
}

// addLink adds a link with the rate and delay of compact references.
func (f *Fabric) addLink(a, b int) {
	f.Links = append(f.Links, Link{A: a, B: b, Rate: 100 * units.Gbps, Delay: units.Microsecond})
}

// star returns a fabric of hosts on one switch, which is the last node.
func star(hosts int) *Fabric {
	f := &Fabric{Nodes: hosts + 1, Switch: make([]bool, hosts+1)}
	f.Switch[hosts] = true
	for h := range hosts {
		f.addLink(h, hosts)
	}
	return f
}

// leafSpine returns a leaf-spine fabric; nodes are hosts, then leaves, then spines.
func leafSpine(leaves, spines, perLeaf int) *Fabric {
	hosts := leaves * perLeaf
	f := &Fabric{Nodes: hosts + leaves + spines, Switch: make([]bool, hosts+leaves+spines)}
	for n := hosts; n < f.Nodes; n++ {
		f.Switch[n] = true
	}
	for h := range hosts {
		f.addLink(h, hosts+h/perLeaf)
	}
	for l := range leaves {
		for s := range spines {
			f.addLink(hosts+l, hosts+leaves+s)
		}
	}
	return f
}
