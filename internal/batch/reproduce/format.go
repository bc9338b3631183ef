// Package reproduce turns experiments, which are data (package experiments), into
// points to run, results to keep, verdicts on the claims of papers, and documents.
// It does not know how a point is simulated: package sweep and the command do.
package reproduce

import "github.com/xoff-net/xoff/base/units"

// Paper is what all experiments of a paper have in common.
type Paper struct {
	Name string // of its folder
	PaperSpec
}

// PaperSpec is paper.yaml.
type PaperSpec struct {
	Title     string     `yaml:"title"`     // as published
	Source    string     `yaml:"source"`    // where
	About     string     `yaml:"about"`     // a paragraph
	Decisions []Decision `yaml:"decisions"` // about what the paper leaves open
	Rows      []Row      `yaml:"rows"`      // headline claims; none: each claim of that kind is one
}

// Row is a claim of the paper as its authors would state it. It is made of the atomic
// claims that name it, and counts once.
type Row struct {
	ID   string `yaml:"id"`
	Text string `yaml:"text"` // what the paper says
	Says string `yaml:"says"` // a sentence about what we see
	Open string `yaml:"open"` // why it has no verdict, if it has none
}

// Decision is the one value that something has in all figures of a paper which
// does not state it.
type Decision struct {
	What  string `yaml:"what"`
	Value string `yaml:"value"`
	Why   string `yaml:"why"`
}

// Experiment is one figure of a paper.
type Experiment struct {
	ID    string // dsh/17, from its folder and file
	Paper *Paper
	Spec

	file     string // for messages
	base     string // the scenario that points start from: what it is called,
	scenario string // and its text
}

// Spec is the file of an experiment.
type Spec struct {
	Title  string `yaml:"title"`
	Figure string `yaml:"figure"` // where in the paper: Fig. 17
	About  string `yaml:"about"`  // what is run and measured, a paragraph

	// Like is an experiment whose base, compute, cases, schemes, x, scales and counts
	// this one has where it says nothing else; set of both applies.
	Like    string    `yaml:"like"`
	Base    string    `yaml:"base"`    // an example that every point starts from, or a scenario below the paper's folder: scenarios/mine.yaml
	Compute Compute   `yaml:"compute"` // or a function: nothing is simulated
	Set     []string  `yaml:"set"`     // changes to it, as after --set
	Cases   []Variant `yaml:"cases"`   // panels of a figure that are runs of their own
	Schemes []Variant `yaml:"schemes"` // series, named as in the paper
	X       Sweep     `yaml:"x"`       // horizontal axis
	Scales  Scales    `yaml:"scales"`

	Metrics    []Metric    `yaml:"metrics"`
	Counts     []Count     `yaml:"counts"`
	Panels     []Panel     `yaml:"panels"`
	Claims     []Claim     `yaml:"claims"`
	Deviations []Deviation `yaml:"deviations"`
}

// Compute is a function of case, scheme and x.
type Compute struct {
	Function string             `yaml:"function"` // an entry of functions; empty: the experiment is simulated
	MTU      units.Bytes        `yaml:"mtu"`
	Delay    units.Time         `yaml:"delay"`
	Classes  int                `yaml:"classes"`
	Values   map[string]float64 `yaml:"values"` // further numbers, which the function names
}

// Variant is a named set of changes.
type Variant struct {
	Name string   `yaml:"name"`
	Set  []string `yaml:"set"`
}

// Sweep is what changes along the horizontal axis. Scales have the values.
type Sweep struct {
	Title string              `yaml:"title"`
	Set   []string            `yaml:"set"`  // $x stands for the value
	Also  map[string][]string `yaml:"also"` // further changes at single values
}

// Scales are the two sizes of an experiment; it may have no quick one.
type Scales struct {
	Quick Scale `yaml:"quick"`
	Paper Scale `yaml:"paper"`
}

// Scale is how large an experiment is run.
type Scale struct {
	Set []string `yaml:"set"` // hosts, arrivals
	X   []string `yaml:"x"`   // values of the axis; empty: there is none
	// Also are further changes at single values of the axis or in single cases: what
	// is rare there needs more time for the same counts.
	Also    map[string][]string `yaml:"also"`
	Seeds   int                 `yaml:"seeds"`
	Seconds float64             `yaml:"cpu_seconds"` // of a point, as measured once: for estimates
}

// Names of scales.
const (
	Quick = "quick"
	Full  = "paper"
)

// Metric is a number of a run, or a distribution over the rows of a table.
type Metric struct {
	Name    string  `yaml:"name"`
	Title   string  `yaml:"title"`
	Unit    string  `yaml:"unit"`    // of the values, after Times
	Summary string  `yaml:"summary"` // path in summary.json: a number
	Table   string  `yaml:"table"`   // flows, ports, probe-NAME ...: a distribution
	Value   string  `yaml:"value"`   // column; rows without a value do not count
	Over    string  `yaml:"over"`    // column that it is divided by
	Times   float64 `yaml:"times"`   // factor; 0: 1

	Rows  map[string]string `yaml:"rows"`  // columns and what they must be, a number or a word: other rows do not count
	Along string            `yaml:"along"` // column of times (ps): values are also kept in its order, for panels of kind trace

	Unfinished string `yaml:"unfinished"` // end of run: that is the lower bound of unfinished flows; empty: they are left out
}

// Distribution reports whether the metric has many values per run.
func (m *Metric) Distribution() bool { return m.Table != "" }

// Count says how much there was to measure.
type Count struct {
	Name     string            `yaml:"name"`
	Summary  string            `yaml:"summary"`  // path in summary.json
	Table    string            `yaml:"table"`    // or a table,
	Distinct string            `yaml:"distinct"` // with a column whose values from 0 on are counted
	Rows     map[string]string `yaml:"rows"`     // as of a metric
	Least    int               `yaml:"least"`    // a point with less is flagged
	Scheme   string            `yaml:"scheme"`   // only this scheme needs as much
	// Of is the count of finished flows if this one counts unfinished flows of the same
	// group, which must be few.
	Of string `yaml:"of"`
}

// Panel is one coordinate system of the figure.
type Panel struct {
	Title     string   `yaml:"title"`
	Kind      string   `yaml:"kind" allowed:"lines,bars,cdf,trace"`
	Metrics   []string `yaml:"metrics"`
	Statistic string   `yaml:"statistic"` // of a distribution, unless the panel is its CDF
	Case      string   `yaml:"case"`
	Schemes   []string `yaml:"schemes"`   // empty: all
	Normalise string   `yaml:"normalise"` // scheme whose value is 1
	Y         string   `yaml:"y"`         // label of the values; empty: that of the metric
	Max       float64  `yaml:"max"`       // greatest value that is shown; 0: all
}

// Claim is an atomic statement of a paper.
type Claim struct {
	ID        string   `yaml:"id"`
	Text      string   `yaml:"text"`
	Metric    string   `yaml:"metric"`
	Statistic string   `yaml:"statistic"` // of a distribution: p50, p99, mean, max, sum, count, below V (per cent of the values)
	Case      string   `yaml:"case"`
	Scheme    string   `yaml:"scheme"`
	X         string   `yaml:"x"` // a value, or most, least, mean, all; empty: there is one
	Baseline  Baseline `yaml:"baseline"`
	Operator  string   `yaml:"operator"`
	Paper     string   `yaml:"paper"`  // the number, with the digits of the paper
	Order     []string `yaml:"order"`  // schemes, the one with the least first; with a scheme: values of x
	Within    float64  `yaml:"within"` // bound of about, in per cent, where the paper gives none
	Breaks    string   `yaml:"breaks"` // scheme that must break the bound of about somewhere, or the claim says nothing

	Kind string `yaml:"kind"` // headline, reading, sanity
	Row  string `yaml:"row"`  // headline claim that it is a part of; empty: itself
}

// Kinds of claims.
const (
	kindHeadline = "headline" // counts, by its row
	kindReading  = "reading"  // another reading of the same sentence: shown, never counted
	kindSanity   = "sanity"   // arithmetic, and what only a bug could fail: counted apart
)

var kinds = []string{kindHeadline, kindReading, kindSanity}

// alongX reports whether the claim puts values of x in order, of one scheme.
func (c *Claim) alongX() bool { return c.Operator == opOrder && c.Scheme != "" }

// row is the headline claim that a claim belongs to.
func (c *Claim) row() string { return or(c.Row, c.ID) }

// Baseline is what a claim compares with; what is empty is as in the claim.
type Baseline struct {
	Case   string `yaml:"case"`
	Scheme string `yaml:"scheme"`
	X      string `yaml:"x"`
}

// Operators of claims.
const (
	opChange  = "change"  // per cent against the baseline
	opRatio   = "ratio"   // times the baseline
	opLessens = "lessens" // a decrease against the baseline's scheme is smaller than in the baseline's case
	opAbout   = "about"   // as the baseline, within a bound in percentage points
	opValue   = "value"   // a number
	opAbove   = "above"   // more than a number
	opBelow   = "below"   // less than a number
	opEqual   = "equal"   // the digits of the paper
	opOrder   = "order"   // of schemes, or of values of x
	opZero    = "zero"    // in every seed
	opNonzero = "nonzero" // in every seed; with most: at one value of the sweep
)

var operators = []string{opChange, opRatio, opLessens, opAbout, opValue, opAbove, opBelow, opEqual, opOrder, opZero, opNonzero}

// Values of Claim.X that stand for a whole sweep.
const (
	xMost  = "most"  // where the claim holds most: "up to"
	xLeast = "least" // where it holds least
	xMean  = "mean"  // over all values
	xAll   = "all"   // at each of them
)

// Deviation is a claim that is known not to come out. It is asserted: when the
// verdict changes, the command says so.
type Deviation struct {
	Claim   string `yaml:"claim"`
	Scale   string `yaml:"scale"` // quick, paper; empty: both
	Verdict string `yaml:"verdict"`
	Why     string `yaml:"why"` // what the run shows, which decision may be the cause, what was tried
}

// Scale returns the size of that name.
func (e *Experiment) Scale(name string) *Scale {
	if name == Quick {
		return &e.Scales.Quick
	}
	return &e.Scales.Paper
}

// Has reports whether the experiment is run at a scale. A reading beside a figure may
// have that of the paper only: the quick scale of a whole paper has a limit of time.
func (e *Experiment) Has(scale string) bool { return !e.Simulated() || e.Scale(scale).Seeds > 0 }

// Simulated is false when nothing is run.
func (e *Experiment) Simulated() bool { return e.Compute.Function == "" }

func (e *Experiment) metric(name string) *Metric {
	for i := range e.Metrics {
		if e.Metrics[i].Name == name {
			return &e.Metrics[i]
		}
	}
	return nil
}
