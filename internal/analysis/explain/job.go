package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/metrics"
)

const jobsTable = "explain-jobs"

// Kinds of steps of a critical path.
const (
	stepCompute = iota
	stepMessage
	stepScaleUp
)

var stepNames = []string{"compute", "message", "scale-up"}

func jobColumns(o *metrics.Outcome) []probe.Column {
	var jobs, labels []string
	for _, j := range o.Jobs {
		jobs = append(jobs, j.Name)
		for i := range j.Labels {
			if name := j.Labels[i].Name; !slices.Contains(labels, name) {
				labels = append(labels, name)
			}
		}
	}
	return []probe.Column{
		{Name: "job", Type: probe.Text, Texts: jobs, Doc: "name of the workload"},
		{Name: "iteration", Doc: "iteration, from 0"},
		{Name: "from_ps", Doc: "start of the step"},
		{Name: "to_ps", Doc: "end of the step"},
		{Name: "what", Type: probe.Text, Texts: stepNames, Doc: "compute, message over NICs, or message inside a scale-up domain"},
		{Name: "name", Type: probe.Text, Texts: labels, Nullable: true, Doc: "collective or part of the job"},
		{Name: "rank", Doc: "rank that computes or sends"},
		{Name: "host", Type: probe.Text, Texts: o.Hosts, Doc: "its NIC"},
		{Name: "peer", Doc: "rank that receives"},
		{Name: "flow", Nullable: true, Doc: "flow of the message"},
		{Name: "open", Type: probe.Bool, Doc: "the step had not ended at the end of the run"},
	}
}

// jobs adds the critical path of every iteration of every job.
func jobs(o *metrics.Outcome, columns []probe.Column, add func(words ...int64)) {
	labels := columns[5].Texts
	for i, j := range o.Jobs {
		for it := range j.Iterations {
			for _, s := range j.CriticalPath(it, o.End) {
				op := &j.Ops[s.Op]
				what, flow, name := int64(stepCompute), int64(probe.Null), int64(probe.Null)
				switch op.Kind {
				case job.Send:
					what, flow = stepMessage, int64(j.Flow0+op.To)
				case job.Copy:
					what = stepScaleUp
				}
				if op.Label >= 0 {
					name = int64(slices.Index(labels, j.Labels[op.Label].Name))
				}
				add(int64(i), int64(it), int64(s.From), int64(s.To), what, name, int64(op.Rank), int64(j.Ranks[op.Rank].Host), int64(s.Peer), flow, boolToInt(s.Open))
			}
		}
	}
}

// JobExplanation says what determined the time of an iteration of a job.
type JobExplanation struct {
	Job       string     `json:"job"`
	Iteration int        `json:"iteration"`
	From      units.Time `json:"from_ps"`
	Time      units.Time `json:"time_ps"`
	Finished  bool       `json:"finished"`
	Headline  string     `json:"headline"`
	Compute   units.Time `json:"compute_ps"`  // parts of the critical path, which sum to Time
	Network   units.Time `json:"network_ps"`  // messages over NICs
	ScaleUp   units.Time `json:"scale_up_ps"` // messages inside scale-up domains
	Between   units.Time `json:"between_ps"`  // between the steps
	Sites     []Site     `json:"places"`      // where the messages of the path spent their time, longest first
	Ranks     []RankTime `json:"ranks"`       // compute on the path, longest first
	Messages  []Message  `json:"messages"`    // messages of the path that lost most time, worst first
	Steps     int        `json:"steps"`
}

// RankTime is the compute time of a rank on a critical path.
type RankTime struct {
	Rank int        `json:"rank"`
	Host string     `json:"host"`
	Time units.Time `json:"time_ps"`
}

// Message is a message on a critical path.
type Message struct {
	Name  string     `json:"name"`
	Flow  int        `json:"flow"`
	Src   string     `json:"src"`
	Dst   string     `json:"dst"`
	Took  units.Time `json:"took_ps"`
	Ideal units.Time `json:"ideal_ps"`
	// Mostly is the largest part of its time.
	Mostly string `json:"mostly"`
}

// pathRow is a row of the table of jobs.
type pathRow struct {
	from, to units.Time
	what     int32
	name     string
	rank     int
	host     string
	flow     int64
	open     bool
}

// Job explains an iteration of a job; a negative one selects the longest.
func (r *Run) Job(name string, iteration int) (*JobExplanation, error) {
	if _, err := os.Stat(filepath.Join(r.folder, jobsTable+".parquet")); err != nil {
		return nil, errors.New("the run has no jobs (expected a generator of jobs, see docs/training.md)")
	}
	rows, err := r.pathRows(name)
	if err != nil {
		return nil, err
	}
	best, longest := -1, units.Time(-1)
	for i, list := range rows {
		took := list[len(list)-1].to - list[0].from
		if i == iteration || iteration < 0 && (took > longest || took == longest && i < best) {
			best, longest = i, took
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("job %s has no iteration %d (expected 0 to %d)", name, iteration, len(rows)-1)
	}
	return r.explainJob(name, best, rows[best])
}

// pathRows returns the critical paths of a job, by iteration.
func (r *Run) pathRows(name string) (map[int][]pathRow, error) {
	t, err := r.table(jobsTable, []string{"iteration", "from_ps", "to_ps", "rank", "flow", "open"}, []string{"job", "what", "name", "host"})
	if err != nil {
		return nil, err
	}
	what, err := t.indices("what", stepNames)
	if err != nil {
		return nil, err
	}
	rows := make(map[int][]pathRow)
	for i, w := range t.texts["job"] {
		if t.words["job"][w] != name {
			continue
		}
		x := pathRow{from: units.Time(t.ints["from_ps"][i]), to: units.Time(t.ints["to_ps"][i]), what: what[i], rank: int(t.ints["rank"][i]),
			host: t.words["host"][t.texts["host"][i]], flow: t.ints["flow"][i], open: t.ints["open"][i] != 0}
		if k := t.texts["name"][i]; k >= 0 {
			x.name = t.words["name"][k]
		}
		it := int(t.ints["iteration"][i])
		rows[it] = append(rows[it], x)
	}
	if len(rows) > 0 {
		return rows, nil
	}
	var names []string
	for i := range r.Summary.Jobs {
		names = append(names, r.Summary.Jobs[i].Name)
	}
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("job %s did not begin", name)
	}
	return nil, registry.Unknown("job", name, names)
}

func (r *Run) explainJob(name string, iteration int, rows []pathRow) (*JobExplanation, error) {
	last := rows[len(rows)-1]
	e := &JobExplanation{Job: name, Iteration: iteration, From: rows[0].from, Time: last.to - rows[0].from, Finished: !last.open,
		Sites: []Site{}, Ranks: []RankTime{}, Messages: []Message{}, Steps: len(rows)}
	sites := siteSums{run: r}
	e.Between = e.Time
	for _, x := range rows {
		took := x.to - x.from
		e.Between -= took
		switch x.what {
		case stepCompute:
			e.Compute += took
			i := slices.IndexFunc(e.Ranks, func(t RankTime) bool { return t.Rank == x.rank })
			if i < 0 {
				i = len(e.Ranks)
				e.Ranks = append(e.Ranks, RankTime{Rank: x.rank, Host: x.host})
			}
			e.Ranks[i].Time += took
		case stepScaleUp:
			e.ScaleUp += took
		default:
			e.Network += took
			steps, err := r.Steps(int(x.flow))
			if err != nil {
				return nil, err
			}
			for _, s := range steps {
				if s.From, s.To = max(s.From, x.from), min(s.To, x.to); s.From < s.To {
					sites.add(s)
				}
			}
			f := &r.flows[x.flow]
			if took > f.ideal {
				e.Messages = append(e.Messages, Message{Name: x.name, Flow: int(x.flow), Src: r.names[f.src], Dst: r.names[f.dst], Took: took, Ideal: f.ideal})
			}
		}
	}
	e.Sites = sites.sorted()
	slices.SortStableFunc(e.Ranks, func(a, b RankTime) int { return cmp.Compare(b.Time, a.Time) })
	slices.SortStableFunc(e.Messages, func(a, b Message) int { return cmp.Compare(b.Took-b.Ideal, a.Took-a.Ideal) })
	e.Messages = e.Messages[:min(len(e.Messages), maxShown)]
	for i := range e.Messages {
		e.Messages[i].Mostly = r.slow(e.Messages[i].Flow).Mostly
	}
	e.Headline = e.headline()
	return e, nil
}

// headline names what cost the iteration most, besides the work itself.
func (e *JobExplanation) headline() string {
	text := fmt.Sprintf("iteration %d of %s took %s", e.Iteration, e.Job, e.Time.Human())
	if !e.Finished {
		text = fmt.Sprintf("iteration %d of %s did not end; its oldest step is under way", e.Iteration, e.Job)
	}
	for i := range e.Sites {
		s := &e.Sites[i]
		if s.Part == Serialisation || s.Part == Propagation {
			continue
		}
		if 20*s.Time < e.Time {
			break
		}
		return fmt.Sprintf("%s; most was lost %s at %s%s: %s (%.0f %%)", text, s.Part, s.Where, s.blamed(), s.Time.Human(), e.share(s.Time))
	}
	if len(e.Ranks) > 0 && e.Compute > e.Network+e.ScaleUp {
		return fmt.Sprintf("%s; it is bound by compute, most at rank %d: %s (%.0f %%)", text, e.Ranks[0].Rank, e.Ranks[0].Time.Human(), e.share(e.Ranks[0].Time))
	}
	return text + "; it is bound by the size and number of its messages: no queue or pause costs 5 %"
}

func (e *JobExplanation) share(t units.Time) float64 {
	return 100 * float64(t) / float64(max(1, e.Time))
}

// Text writes the explanation as text.
func (e *JobExplanation) Text(w io.Writer) error {
	p := &printer{w: w}
	p.linef("%s", e.Headline)
	p.linef("")
	p.linef("critical path: %s", plural(e.Steps, "step"))
	for _, x := range []struct {
		name string
		time units.Time
	}{{"compute", e.Compute}, {"messages over NICs", e.Network}, {"scale-up messages", e.ScaleUp}, {"between steps", e.Between}} {
		if x.time > 0 {
			p.linef("   %-20s %10s %5.1f %%", x.name, x.time.Human(), e.share(x.time))
		}
	}
	if len(e.Ranks) > 0 {
		var parts []string
		for _, x := range e.Ranks[:min(maxShown, len(e.Ranks))] {
			parts = append(parts, fmt.Sprintf("rank %d at %s %s", x.Rank, x.Host, x.Time.Human()))
		}
		p.linef("   compute by rank: %s", strings.Join(parts, ", "))
	}
	for i, s := range e.Sites {
		if i == 0 {
			p.linef("")
			p.linef("where its messages spent their time")
		}
		if i == maxLines || 200*s.Time < e.Time {
			break
		}
		acks := ""
		if s.Acks {
			acks = " (ACKs)"
		}
		p.linef("   %10s %5.1f %%  %s at %s%s", s.Time.Human(), e.share(s.Time), s.Part, s.Where, acks)
		for _, l := range s.lines() {
			p.linef("   %10s %7s    %s", "", "", l)
		}
	}
	for i, m := range e.Messages {
		if i == 0 {
			p.linef("")
			p.linef("messages that lost most (--flow N shows details)")
		}
		p.linef("   flow %d (%s), %s to %s: %s instead of %s, mostly %s", m.Flow, m.Name, m.Src, m.Dst, m.Took.Human(), m.Ideal.Human(), m.Mostly)
	}
	return p.err
}
