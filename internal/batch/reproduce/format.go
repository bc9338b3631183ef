// Package reproduce backs xoff reproduce: it turns the experiments of package experiments
// into points to run, stored results, verdicts on the claims of papers, and documents.
// Package sweep runs the points.
package reproduce

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// Paper is a paper whose figures are reproduced.
type Paper struct {
	Name string // name of its folder
	PaperSpec
}

// PaperSpec is paper.yaml.
type PaperSpec struct {
	Title     string     `yaml:"title"`     // as published
	Source    string     `yaml:"source"`    // where it was published
	About     string     `yaml:"about"`     // introductory paragraph
	Decisions []Decision `yaml:"decisions"` // values that the paper does not state
	Rows      []Row      `yaml:"rows"`      // headline claims; none: each claim of that kind is one
	Own       bool       `yaml:"own"`       // experiments of xoff: no page of a paper, not in the scoreboard
}

// Row is a headline claim as the authors would state it. It consists of the atomic claims
// that name it, and counts once.
type Row struct {
	ID   string `yaml:"id"`
	Text string `yaml:"text"` // what the paper says
	Says string `yaml:"says"` // one sentence about our result
	Open string `yaml:"open"` // why it has no verdict; empty if it has one
}

// Decision is a value that the paper does not state and that all its figures use.
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
	base     string // name of the base scenario
	scenario string // text of the base scenario
}

// Spec is the file of an experiment.
type Spec struct {
	Title  string `yaml:"title"`
	Figure string `yaml:"figure"` // figure or table of the paper: Fig. 17
	About  string `yaml:"about"`  // paragraph about what is run and measured

	// Like is the ID of an experiment that provides base, compute, cases, schemes, x, scales
	// and counts unless this one sets them. The settings in set of both apply.
	Like    string    `yaml:"like"`
	Base    string    `yaml:"base"`    // base scenario: an example, or a file below the paper's folder such as scenarios/mine.yaml
	Compute Compute   `yaml:"compute"` // function to compute instead of a simulation
	Set     []string  `yaml:"set"`     // changes to the base scenario, as after --set
	Cases   []Variant `yaml:"cases"`   // panels of a figure that have runs of their own
	Factors []Factor  `yaml:"factors"` // choices whose combinations are schemes
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
	Function string             `yaml:"function"` // name of an entry of functions; empty: the experiment is simulated
	MTU      units.Bytes        `yaml:"mtu"`
	Delay    units.Time         `yaml:"delay"`
	Classes  int                `yaml:"classes"`
	Values   map[string]float64 `yaml:"values"` // further arguments of the function
}

// Variant is a named set of changes to the scenario.
type Variant struct {
	Name    string   `yaml:"name"`
	Set     []string `yaml:"set"`
	Schemes []string `yaml:"schemes"` // of a case: the schemes that it has; empty: all
}

// Sweep defines what changes along the horizontal axis. Scales define the values.
type Sweep struct {
	Title string              `yaml:"title"`
	Set   []string            `yaml:"set"`  // $x stands for the value
	Also  map[string][]string `yaml:"also"` // further changes at some values
}

// Scales are the two sizes of an experiment. The quick one is optional.
type Scales struct {
	Quick Scale `yaml:"quick"`
	Paper Scale `yaml:"paper"`
}

// Scale is the size of an experiment.
type Scale struct {
	Set []string `yaml:"set"` // changes to the scenario: hosts, arrivals
	X   []string `yaml:"x"`   // values of the axis; empty: no axis
	// Also has further changes at some values of the axis or in some cases, for example a
	// longer run where events are rare.
	Also    map[string][]string `yaml:"also"`
	Seeds   int                 `yaml:"seeds"`
	Seconds float64             `yaml:"cpu_seconds"` // measured CPU time of a point, for estimates
}

// Names of scales.
const (
	Quick = "quick"
	Full  = "paper"
)

// Metric is a number per run, or a distribution over the rows of a table.
type Metric struct {
	Name    string  `yaml:"name"`
	Title   string  `yaml:"title"`
	Unit    string  `yaml:"unit"`    // unit after multiplication by Times
	Summary string  `yaml:"summary"` // path in summary.json: a number
	Table   string  `yaml:"table"`   // flows, ports, probe-NAME ...: a distribution
	Value   string  `yaml:"value"`   // column of values; rows without one are skipped
	Over    string  `yaml:"over"`    // column to divide by
	Times   float64 `yaml:"times"`   // factor; 0 means 1

	Rows  map[string]string `yaml:"rows"`  // row filter: columns and their required values, numbers or words
	Along string            `yaml:"along"` // column of times (ps): values are also stored over time, for panels of kind trace

	// Common keeps only flows that finished under all schemes, in the same case, at the same x and
	// with the same seed.
	Common bool `yaml:"common"`

	Unfinished string `yaml:"unfinished"` // "end of run" is the lower bound of unfinished flows; empty: they are excluded

	Sizes []units.Bytes `yaml:"sizes"` // of table flows: the smallest payload, and the first that is too large
	Base  Base          `yaml:"base"`  // what slowdown is relative to; zero: the ideal completion time
}

// Base is the ideal completion time that some papers use: a fixed time plus payload over rate.
type Base struct {
	RTT  units.Time `yaml:"rtt"`
	Rate units.Rate `yaml:"rate"`
}

// Distribution reports whether the metric has many values per run.
func (m *Metric) Distribution() bool { return m.Table != "" }

// Count is the number of events or flows that a run measured.
type Count struct {
	Name     string            `yaml:"name"`
	Summary  string            `yaml:"summary"`  // path in summary.json
	Table    string            `yaml:"table"`    // table, instead of summary
	Distinct string            `yaml:"distinct"` // column of the table whose different non-negative values are counted
	Rows     map[string]string `yaml:"rows"`     // row filter, see Metric
	Least    int               `yaml:"least"`    // points with less are flagged
	Scheme   string            `yaml:"scheme"`   // scheme to which least applies; empty: all
	X        string            `yaml:"x"`        // value of x to which least applies; empty: all
	// Of names the count of finished flows if this one counts unfinished flows of the same
	// group. Their share must be low.
	Of string `yaml:"of"`
}

// Panel is one plot of the figure.
type Panel struct {
	Title     string   `yaml:"title"`
	Kind      string   `yaml:"kind" allowed:"lines,bars,cdf,trace"`
	Metrics   []string `yaml:"metrics"`
	Statistic string   `yaml:"statistic"` // statistic of a distribution; not for cdf and trace
	Case      string   `yaml:"case"`
	Schemes   []string `yaml:"schemes"`   // empty: all
	Normalise string   `yaml:"normalise"` // scheme whose value is scaled to 1
	Y         string   `yaml:"y"`         // label of the values; empty: title of the metric
	Max       float64  `yaml:"max"`       // upper end of the axis; 0: automatic

	Published Published `yaml:"published"` // values to draw beside ours
}

// Published has the values of a panel from another source, after Normalise.
type Published struct {
	Name   string                        `yaml:"name"`   // of the source, in legends
	Values map[string]map[string]float64 `yaml:"values"` // by scheme and x
}

// Claim is an atomic statement of a paper.
type Claim struct {
	ID        string   `yaml:"id"`
	Text      string   `yaml:"text"`
	Metric    string   `yaml:"metric"`
	Statistic string   `yaml:"statistic"` // statistic of a distribution: p50, p99, mean, max, sum, count, below V (per cent of the values)
	Case      string   `yaml:"case"`
	Scheme    string   `yaml:"scheme"`
	X         string   `yaml:"x"` // a value, or most, least, mean, all; empty: no axis
	Baseline  Baseline `yaml:"baseline"`
	Operator  string   `yaml:"operator"`
	Paper     string   `yaml:"paper"`  // number with the digits of the paper
	Order     []string `yaml:"order"`  // schemes in ascending order of the metric; with a scheme: values of x
	Within    float64  `yaml:"within"` // bound of about in per cent, if the paper states none
	Breaks    string   `yaml:"breaks"` // scheme that must exceed the bound of about somewhere, else the claim is inconclusive

	Kind string `yaml:"kind"` // headline, reading, sanity
	Row  string `yaml:"row"`  // headline claim that it belongs to; empty: itself
}

// Kinds of claims.
const (
	kindHeadline = "headline" // counted once per row
	kindReading  = "reading"  // another interpretation of the same sentence: shown, never counted
	kindSanity   = "sanity"   // arithmetic, or claims that only a bug could break: counted separately
)

var kinds = []string{kindHeadline, kindReading, kindSanity}

// alongX reports whether the claim orders values of x of one scheme.
func (c *Claim) alongX() bool { return c.Operator == opOrder && c.Scheme != "" }

// row returns the headline claim that a claim belongs to.
func (c *Claim) row() string { return cmp.Or(c.Row, c.ID) }

// Baseline is the position that a claim compares with. Empty fields are taken from the claim.
type Baseline struct {
	Case   string `yaml:"case"`
	Scheme string `yaml:"scheme"`
	X      string `yaml:"x"`
}

// Operators of claims.
const (
	opChange  = "change"  // change from the baseline in per cent
	opRatio   = "ratio"   // multiple of the baseline
	opLessens = "lessens" // the decrease from the baseline's scheme is smaller than in the baseline's case
	opAbout   = "about"   // equal to the baseline within a bound in percentage points
	opValue   = "value"   // close to a number
	opAbove   = "above"   // greater than a number
	opBelow   = "below"   // less than a number
	opEqual   = "equal"   // has the digits of the paper
	opOrder   = "order"   // ascending order of schemes, or of values of x
	opZero    = "zero"    // zero in every seed
	opNonzero = "nonzero" // nonzero in every seed; with most: at one value of x
)

var operators = []string{opChange, opRatio, opLessens, opAbout, opValue, opAbove, opBelow, opEqual, opOrder, opZero, opNonzero}

// Values of Claim.X that stand for a whole sweep.
const (
	xMost  = "most"  // the value with the largest change: "up to"
	xLeast = "least" // the value with the smallest change
	xMean  = "mean"  // mean over all values
	xAll   = "all"   // every value
)

// Deviation is a claim that is known not to be reproduced. xoff reproduce reports an error
// if the verdict changes.
type Deviation struct {
	Claim   string `yaml:"claim"`
	Scale   string `yaml:"scale"` // quick, paper; empty: both
	Verdict string `yaml:"verdict"`
	Cause   string `yaml:"cause"` // one of causes; required where stored results have an open headline claim
	Why     string `yaml:"why"`   // what the runs show, which decision may be the cause, what was tried
}

// Causes of open claims.
const (
	causeSetup = "set-up not stated" // the paper does not state a value that decides
	causeData  = "data"              // too few seeds, points or events
	causePaper = "paper"             // the paper contradicts itself or its authors' program; why has the proof
	causeOurs  = "ours"              // a limit or decision of xoff
)

var causes = []string{causeSetup, causeData, causePaper, causeOurs}

// Scale returns the scale with a name.
func (e *Experiment) Scale(name string) *Scale {
	if name == Quick {
		return &e.Scales.Quick
	}
	return &e.Scales.Paper
}

// Has reports whether the experiment has a scale. Supplementary experiments may have only
// the paper scale, because the quick scale of a whole paper has a time limit.
func (e *Experiment) Has(scale string) bool { return !e.Simulated() || e.Scale(scale).Seeds > 0 }

// Simulated reports whether the experiment runs simulations, rather than a function.
func (e *Experiment) Simulated() bool { return e.Compute.Function == "" }

// common reports whether a metric needs the runs of all schemes.
func (e *Experiment) common() bool {
	return slices.ContainsFunc(e.Metrics, func(m Metric) bool { return m.Common })
}

func (e *Experiment) metric(name string) *Metric {
	for i := range e.Metrics {
		if e.Metrics[i].Name == name {
			return &e.Metrics[i]
		}
	}
	return nil
}
