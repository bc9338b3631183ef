package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/live"
	"github.com/xoff-net/xoff/internal/netns"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// latenessFile is a file of the results of live runs.
const latenessFile = "lateness.json"

// liveFlags are those of `xoff live` beside those of every run.
type liveFlags struct {
	beside   bool
	clock    string
	wire     string
	nodes    []string
	mapped   []string
	port     int
	anywhere bool
	system   systemFlags
}

// Wires of live runs.
const (
	wireMemory = "memory"
	wireFrames = "frames"
	wireUDP    = "udp"
	wirePacket = "packet"
)

// Clocks of live runs. The second is never late and waits for nothing: tests see the whole
// command with it, and what they see does not depend on the machine.
const (
	realClock   = "real"
	manualClock = "manual"
)

func (a *app) liveCommand() *cobra.Command {
	f, l := &runFlags{engine: string(run.Fast), divisor: 1}, &liveFlags{}
	cmd := &cobra.Command{
		Use:   "live FILE",
		Short: "Run a scenario file with the real clock, on emulated wires; - is standard input",
		Long: `Runs the switches and hosts of a scenario in real time: the same code as in a
simulation, but a second of the scenario takes a second, and timers and frames come
as late as the machine lets them. How late is measured; a run whose lateness can
have decided its results says so and ends with 1. Rates are to be such that the
machine keeps up: 10 Mbps to some Gbps. docs/live.md has more.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.system.setup != "" && !cmd.Flags().Changed("wire") {
				l.wire = wirePacket
			}
			if err := errors.Join(f.check(), l.check()); err != nil {
				return err
			}
			cfg, err := l.read(args[0], f.settings())
			if err != nil {
				return wrap(exitInput, err)
			}
			if cmd.Flags().Changed("seed") {
				cfg.Seed = a.seed
			}
			return a.live(cmd, cfg, f, l)
		},
	}
	f.registerAny(cmd)
	f.registerShow(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&l.beside, "beside", false, "simulate the file, too, and compare")
	flags.StringVar(&l.wire, "wire", wireMemory, "`WIRE` that carries frames: memory; frames (memory, as the bytes of real frames); "+
		"udp (sockets, also between processes); packet (interfaces of Linux, by --map or --setup)")
	flags.StringArrayVar(&l.nodes, "node", nil, "run these nodes only: `NAME` or a pattern such as leaf* (repeatable); "+
		"the others run elsewhere, with --wire udp or packet")
	flags.StringArrayVar(&l.mapped, "map", nil, "udp: `FILE` with the address of every port, as leaf0.to-host3: 127.0.0.1:5003 "+
		"(default with --node: ports of the loopback interface from --port on); packet: PORT=INTERFACE, as leaf0.to-host3=veth3 (repeatable)")
	flags.IntVar(&l.port, "port", live.FirstPort, "first UDP `PORT` where there is no --map; the same for all processes of a run")
	flags.BoolVar(&l.anywhere, "anywhere", false, "allow addresses beyond the loopback interface: frames are neither encrypted nor signed")
	l.system.register(flags)
	cmd.Flags().StringVar(&l.clock, "clock", realClock, "`CLOCK`: real, or manual (never late, as fast as it goes; for tests)")
	_ = cmd.Flags().MarkHidden("clock")
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-seedSEED-live)")
	a.simulationFlags(cmd)
	return cmd
}

// check rejects values that are not allowed.
func (l *liveFlags) check() error {
	wires := []string{wireMemory, wireFrames, wireUDP, wirePacket}
	far := l.wire == wireUDP || l.wire == wirePacket
	system := l.system.used(l.wire)
	switch {
	case l.clock != realClock && l.clock != manualClock:
		return failf(exitInput, "--clock is %q; allowed: %s, %s", l.clock, realClock, manualClock)
	case !slices.Contains(wires, l.wire):
		return failf(exitInput, "--wire is %q; allowed: %s", l.wire, strings.Join(wires, ", "))
	case !far && (len(l.nodes) > 0 || len(l.mapped) > 0) || l.wire != wireUDP && l.anywhere:
		return failf(exitInput, "--node, --map and --anywhere are about wires to other processes; allowed: with --wire udp or packet, --anywhere with udp")
	case (far || system) && l.clock != realClock:
		return failf(exitInput, "--wire udp, packet and --outside take time; allowed: with --clock real")
	case l.beside && (len(l.nodes) > 0 || len(l.system.outside) > 0):
		return failf(exitInput, "--beside compares whole runs; allowed: without --node and --outside")
	case l.wire == wireUDP && len(l.mapped) > 1:
		return failf(exitInput, "--map is there %d times; allowed with --wire udp: one file", len(l.mapped))
	case l.system.setup != "" && l.system.setup != setupNetns:
		return failf(exitInput, "--setup is %q; allowed: %s", l.system.setup, setupNetns)
	case l.system.setup != "" && (len(l.nodes) > 0 || len(l.mapped) > 0 || l.wire == wireUDP):
		return failf(exitInput, "--setup makes all nodes of a run; allowed: without --node, --map and --wire udp")
	case l.system.setup != "" && l.wire != wirePacket && len(l.system.outside) == 0:
		return failf(exitInput, "--setup makes interfaces, and nothing is to use one; allowed: with --wire packet, its default, or --outside")
	case l.system.setup != "" && netns.CheckPrefix(l.system.prefix) != nil:
		return failf(exitInput, "--prefix: %w", netns.CheckPrefix(l.system.prefix))
	case l.wire == wirePacket && l.system.setup == "" && len(l.mapped) == 0:
		return failf(exitInput, "--wire packet needs interfaces; allowed: with --map PORT=INTERFACE or --setup netns")
	}
	return nil
}

// read reads the scenario. The child gets its text from its parent, by standard input: it may
// not be allowed to read the file, and of standard input there is but one.
func (l *liveFlags) read(path string, set []string) (*scenario.Config, error) {
	from := path
	if l.system.sockets != "" {
		from = "-"
	}
	name, text, err := scenario.ReadText(from)
	if err != nil {
		return nil, err
	}
	if path != "-" {
		name = path
	}
	l.system.text = text
	return scenario.Parse(name, text, set...)
}

// here marks the nodes that are to run in this process; nil: all.
func (l *liveFlags) here(g *topo.Graph) ([]bool, error) {
	if len(l.nodes) == 0 {
		return nil, nil
	}
	here := make([]bool, g.Nodes())
	for _, pattern := range l.nodes {
		found := false
		for i, name := range g.Names {
			if topo.Match(pattern, name) {
				here[i], found = true, true
			}
		}
		if !found {
			return nil, failf(exitInput, "--node: %w", registry.Unknown("node", pattern, g.Names))
		}
	}
	return here, nil
}

// interfaces are the ports that --map gives an interface.
func (l *liveFlags) interfaces() []string {
	if l.wire != wirePacket {
		return nil
	}
	return l.mapped
}

// addresses are where the ports are; nil: anywhere, since all are in this process.
func (l *liveFlags) addresses(b *build.Built, here []bool) (live.Addresses, error) {
	if len(l.mapped) == 0 {
		if here == nil {
			return nil, nil
		}
		where, err := live.Generated(b.Spec, l.port)
		return where, wrap(exitInput, err)
	}
	data, err := os.ReadFile(l.mapped[0])
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	where, err := live.ReadAddresses(l.mapped[0], data, b.Graph)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	if name := where.Missing(b.Graph, here); name != "" {
		return nil, failf(exitInput, "%s: %s has no address; allowed: one for every port of nodes that run here, and of their neighbours", l.mapped[0], name)
	}
	return where, nil
}

// engine makes the driver of a run.
func (l *liveFlags) engine(b *build.Built, here []bool, progress func(units.Time)) (*live.Engine, error) {
	o := live.Options{Progress: progress, Here: here, Outside: l.system.hosts()}
	away := l.system.away(b.Graph.Nodes())
	if l.clock == manualClock {
		o.Clock, o.Check = &live.Manual{}, sim.CheckPeriod
	}
	switch l.wire {
	case wireFrames:
		o.Wires = live.NewFrames(b.Spec)
	case wireUDP:
		where, err := l.addresses(b, here)
		if err != nil {
			return nil, err
		}
		udp, err := live.NewUDP(b.Spec, where, here, away, l.anywhere)
		if err != nil {
			return nil, wrap(exitInput, err)
		}
		o.Wires = udp
	case wirePacket:
		packet, err := live.NewPacket(b.Spec, l.system.rings(b.Spec), here, away)
		if err != nil {
			return nil, wrap(exitInput, err)
		}
		o.Wires = packet
	}
	return live.New(b.Spec, o)
}

// liveDriver is a driver whose lateness may have decided results.
type liveDriver struct{ *live.Engine }

// Judge implements run.Judging.
func (d liveDriver) Judge(s *metrics.Summary, found run.Verdict) run.Verdict {
	if why := d.Report().Decides(s.Drops.Broken); why != "" && found.Code != run.Interrupted {
		return run.Verdict{Code: run.Failure, Message: why}
	}
	return found
}

// live runs a scenario with the real clock.
func (a *app) live(cmd *cobra.Command, cfg *scenario.Config, f *runFlags, l *liveFlags) error {
	plan, err := build.NewPlan(cfg)
	if err != nil {
		return wrap(exitInput, err)
	}
	var driver liveDriver
	s := a.simulation(cfg, f)
	s.folder += "-live"
	if len(l.nodes) > 0 {
		s.folder += "-" + strings.NewReplacer("*", "", "?", "", "[", "", "]", "", "/", "").Replace(strings.Join(l.nodes, "-"))
	}
	if system := l.system.used(l.wire); system || len(l.nodes) > 0 {
		built, err := plan.Build(build.Options{})
		if err != nil {
			return wrap(exitInput, err)
		}
		if s.options.Here, err = l.here(plan.Graph); err != nil {
			return err
		}
		if system {
			if err := l.system.resolve(built, l.interfaces(), len(l.nodes) > 0); err != nil {
				return err
			}
			switch packet := l.wire == wirePacket; {
			case len(l.system.needs(built, packet)) == 0: // all real hosts are elsewhere
			case l.system.sockets == "":
				wanted := a.folderFor(s.folder)
				folder := run.FreeFolder(wanted, cfg, f.force)
				a.tellMoved(wanted, folder)
				return a.parent(cmd, built, l, folder)
			default:
				if err := l.system.open(built, packet); err != nil {
					return err
				}
			}
		}
	}
	if len(l.nodes) > 0 && !a.quiet {
		fmt.Fprintln(a.err, "xoff: waiting for the nodes that run elsewhere")
	}
	s.options.Drive = func(b *build.Built, progress func(units.Time)) (run.Driver, error) {
		var err error
		driver.Engine, err = l.engine(b, s.options.Here, progress)
		return driver, err
	}
	s.options.Extra = func(to *run.Folder) error {
		return to.File(latenessFile, "how late events were", func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(driver.Report())
		})
	}
	s.line = func(p run.Progress, _ time.Duration) string {
		return fmt.Sprintf("%s of at most %s, 1 of 100 events is %s late", human(p.Now), human(cfg.Run.Stop.AtMost), human(driver.Lateness().Quantile(0.99)))
	}
	s.print = func(done *run.Result) error {
		if l.beside && a.json {
			return nil // one document, when all is there
		}
		return a.printRun(done, f.bySize, driver.Report())
	}
	done, err := a.perform(cmd, plan, f, s)
	if done == nil || !l.beside || cmd.Context().Err() != nil {
		return err
	}
	if besides := a.besides(cmd, cfg, done, driver.Report()); besides != nil {
		return besides
	}
	return err
}

// lateness shows how late a run was.
func (w *sheet) lateness(r *live.Report) {
	w.line("  late\t%s events: half of them by %s, 1 of 100 by %s or more, the worst by %s; half a frame takes %s", count(r.Events),
		human(r.P50), human(r.P99), human(r.Worst), human(r.HalfFrame))
	w.line("  behind\t%s of %s, by more than half a frame", human(r.Behind), human(r.Ran))
	for _, why := range slices.Sorted(maps.Keys(r.Strange)) {
		w.line("  not taken\t%s frames: %s", count(r.Strange[why]), why)
	}
}

// compared is a measure of a live run and of its simulation.
type compared struct {
	Name      string   `json:"name"`
	Live      float64  `json:"live"`
	Simulated float64  `json:"simulated"`
	Change    *float64 `json:"change_percent"` // of live against simulated; null where that is 0 and this is not
	text      func(float64) string
}

// comparedOf holds a live run against its simulation. Times are in picoseconds.
func comparedOf(l, s *metrics.Summary) []compared {
	number := func(v float64) string { return count(uint64(v)) }
	span := func(v float64) string { return human(units.Time(v)) }
	fct := func(s *metrics.Summary) metrics.Times {
		if s.FCT == nil {
			return metrics.Times{}
		}
		return *s.FCT
	}
	list := []compared{
		{"lossless drops", float64(l.Drops.Lossless), float64(s.Drops.Lossless), nil, number},
		{"pauses", float64(l.Pauses.Pauses), float64(s.Pauses.Pauses), nil, number},
		{"flows finished", float64(l.Flows.Completed), float64(s.Flows.Completed), nil, number},
		{"median FCT", float64(fct(l).P50), float64(fct(s).P50), nil, span},
		{"p99 FCT", float64(fct(l).P99), float64(fct(s).P99), nil, span},
	}
	for i := range list {
		c := &list[i]
		switch {
		case c.Live == c.Simulated:
			c.Change = new(float64)
		case c.Simulated != 0:
			change := 100 * (c.Live - c.Simulated) / c.Simulated
			c.Change = &change
		}
	}
	return list
}

// besides simulates what was run live, and compares.
func (a *app) besides(cmd *cobra.Command, cfg *scenario.Config, done *run.Result, late *live.Report) error {
	m := a.newMeter()
	simulated, err := run.Scenario(cmd.Context(), cfg, run.Options{Workers: a.workers, Progress: func(p run.Progress) {
		m.show(func(passed time.Duration) string { return progressLine(p.Now, p.Share(), p.Hops(), passed) })
	}})
	m.clear()
	if err != nil {
		return wrap(exitFailure, err)
	}
	list := comparedOf(done.Summary, simulated.Summary)
	switch {
	case a.json:
		return wrap(exitFailure, a.printJSON(struct {
			Live      *metrics.Summary `json:"live"`
			Lateness  *live.Report     `json:"lateness"`
			Simulated *metrics.Summary `json:"simulated"`
			Compared  []compared       `json:"compared"`
		}{done.Summary, late, simulated.Summary, list}))
	case a.quiet:
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)}
	w.line("")
	w.line("\tlive\tsimulated\tchange\t")
	for _, c := range list {
		change := "-"
		if c.Change != nil {
			change = strings.Replace(fmt.Sprintf("%+.1f %%", *c.Change), "+0.0 %", "0.0 %", 1)
		}
		w.line("%s\t%s\t%s\t%s\t", c.Name, c.text(c.Live), c.text(c.Simulated), change)
	}
	return wrap(exitFailure, w.flush())
}
