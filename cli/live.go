package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/live/engine"
	"github.com/xoff-net/xoff/internal/live/netns"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// latenessFile is the results file with the lateness of a live run.
const latenessFile = "lateness.json"

// liveFlags are the flags of `xoff live` that `xoff run` lacks.
type liveFlags struct {
	withSim bool
	clock   string
	nodes   []string
	mapped  []string
	setup   string // method that creates interfaces
	user    string
	sockets string // for the child: file descriptors of its sockets
	text    []byte // the scenario, for the child
	drive   engine.Setup
	system  engine.System
}

// Clocks of live runs. The manual clock is never late and never waits: tests use it to get
// results that do not depend on the machine.
const (
	realClock   = "real"
	manualClock = "manual"
)

const setupNetns = "netns"

func (a *app) liveCommand() *cobra.Command {
	f, l := &runFlags{engine: string(run.Fast), divisor: 1}, &liveFlags{}
	cmd := &cobra.Command{
		Use:   "live FILE",
		Short: "Run a scenario in real time",
		Long: `Run the switches and hosts of a scenario in real time, with the code of the
simulation. FILE - is standard input. A second of the scenario takes a second, and
the machine makes timers and frames late. xoff measures this lateness. Exit code 1:
the lateness can have changed the results. Choose rates that the machine can keep up
with: 10 Mbps to a few Gbps. See docs/live.md.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.setup != "" && !cmd.Flags().Changed("wire") {
				l.drive.Wire = engine.WirePacket
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
	flags.BoolVar(&l.withSim, "with-sim", false, "also simulate the scenario and print a comparison")
	flags.BoolVar(&l.withSim, "beside", false, "alias of --with-sim")
	_ = flags.MarkHidden("beside")
	flags.StringVar(&l.drive.Wire, "wire", engine.WireMemory, "`WIRE` that carries frames: memory; frames (memory, encoded as real frames); "+
		"udp (sockets, also between processes); packet (Linux interfaces of --map or --setup)")
	flags.StringArrayVar(&l.nodes, "node", nil, "`NAME` or pattern such as leaf* of the nodes to run (repeatable; default: all); "+
		"other processes run the rest, with --wire udp or packet")
	flags.StringArrayVar(&l.mapped, "map", nil, "with --wire udp: `FILE` with lines such as leaf0.to-host3: 127.0.0.1:5003, the address of every port "+
		"(default with --node: loopback addresses, starting at --port); with --wire packet: PORT=INTERFACE, such as leaf0.to-host3=veth3 (repeatable)")
	flags.IntVar(&l.drive.Port, "port", engine.FirstPort, "first UDP `PORT` without --map; the same in all processes of a run")
	flags.BoolVar(&l.drive.Anywhere, "anywhere", false, "allow non-loopback addresses; frames are neither encrypted nor authenticated")
	flags.StringVar(&l.setup, "setup", "", "`METHOD` that creates and removes interfaces: netns, with a namespace per host and a veth pair per cable (needs root)")
	flags.StringSliceVar(&l.system.Outside, "outside", nil, "`HOST=INTERFACE` of real hosts, such as host6=veth6; just HOST with --setup, or for a host of another process")
	flags.StringSliceVar(&l.system.Marks, "class", nil, "`MARK=CLASS` of real frames, such as dscp26=3 or pcp4=3 "+
		"(default: class n for DSCP 8n to 8n+7 and PCP n if it is lossless or lossy, otherwise the first lossy class)")
	flags.StringVar(&l.system.Prefix, "prefix", "xoff", "`PREFIX` of namespace names")
	flags.StringVar(&l.user, "user", "", "`UID:GID` to run as after sockets are open (default for root: the caller of sudo, otherwise 65534:65534)")
	flags.StringVar(&l.sockets, "sockets", "", "file descriptor `NUMBERS` of sockets that the parent process opened")
	_ = flags.MarkHidden("sockets")
	cmd.Flags().StringVar(&l.clock, "clock", realClock, "`CLOCK`: real, or manual (never late, never waits; for tests)")
	_ = cmd.Flags().MarkHidden("clock")
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-seedSEED-live)")
	a.simulationFlags(cmd)
	return cmd
}

// check rejects invalid values and combinations, and configures the driver.
func (l *liveFlags) check() error {
	wires := []string{engine.WireMemory, engine.WireFrames, engine.WireUDP, engine.WirePacket}
	remote := l.drive.Wire == engine.WireUDP || l.drive.Wire == engine.WirePacket
	system := l.usesSystem()
	switch {
	case l.clock != realClock && l.clock != manualClock:
		return failf(exitInput, "--clock is %q (allowed: %s, %s)", l.clock, realClock, manualClock)
	case !slices.Contains(wires, l.drive.Wire):
		return failf(exitInput, "--wire is %q (allowed: %s)", l.drive.Wire, strings.Join(wires, ", "))
	case !remote && (len(l.nodes) > 0 || len(l.mapped) > 0):
		return failf(exitInput, "--node and --map need --wire udp or --wire packet")
	case l.drive.Wire != engine.WireUDP && l.drive.Anywhere:
		return failf(exitInput, "--anywhere needs --wire udp")
	case (remote || system) && l.clock != realClock:
		return failf(exitInput, "--wire udp, --wire packet, --setup and --outside need --clock real")
	case l.withSim && (len(l.nodes) > 0 || len(l.system.Outside) > 0):
		return failf(exitInput, "--with-sim cannot be combined with --node or --outside")
	case l.drive.Wire == engine.WireUDP && len(l.mapped) > 1:
		return failf(exitInput, "found %d values of --map (expected one file with --wire udp)", len(l.mapped))
	case l.setup != "" && l.setup != setupNetns:
		return failf(exitInput, "--setup is %q (allowed: %s)", l.setup, setupNetns)
	case l.setup != "" && (len(l.nodes) > 0 || len(l.mapped) > 0 || l.drive.Wire == engine.WireUDP):
		return failf(exitInput, "--setup cannot be combined with --node, --map or --wire udp")
	case l.setup != "" && l.drive.Wire != engine.WirePacket && len(l.system.Outside) == 0:
		return failf(exitInput, "--setup needs --wire packet or --outside")
	case l.setup != "" && netns.CheckPrefix(l.system.Prefix) != nil:
		return failf(exitInput, "--prefix: %w", netns.CheckPrefix(l.system.Prefix))
	case l.drive.Wire == engine.WirePacket && l.setup == "" && len(l.mapped) == 0:
		return failf(exitInput, "--wire packet needs --map PORT=INTERFACE or --setup netns")
	}
	l.system.Setup, l.system.Packet = l.setup != "", l.drive.Wire == engine.WirePacket
	l.drive.Manual, l.drive.System = l.clock == manualClock, &l.system
	if l.system.Packet {
		l.system.Interfaces = l.mapped
	} else {
		l.drive.Map = l.mapped
	}
	return nil
}

// usesSystem reports whether a run needs interfaces of the operating system.
func (l *liveFlags) usesSystem() bool {
	return l.setup != "" || l.drive.Wire == engine.WirePacket || len(l.system.Outside) > 0
}

// read reads the scenario. The child reads it from standard input, where its parent writes
// it: the child may lack permission to read the file.
func (l *liveFlags) read(path string, set []string) (*scenario.Config, error) {
	from := path
	if l.sockets != "" {
		from = "-"
	}
	name, text, err := scenario.ReadText(from)
	if err != nil {
		return nil, err
	}
	if path != "-" {
		name = path
	}
	l.text = text
	return scenario.Parse(name, text, set...)
}

// liveDriver is a driver whose lateness and wires can change results.
type liveDriver struct{ *engine.Engine }

// Judge implements run.Judging.
func (d liveDriver) Judge(s *metrics.Summary, found run.Verdict) run.Verdict {
	return judgeLive(d.Report(), s.Drops.Broken, found)
}

// judgeLive returns the verdict of a run with the problems that only live runs have. Broken is the
// number of dropped lossless frames.
func judgeLive(r *engine.Report, broken uint64, found run.Verdict) run.Verdict {
	if why := r.LatenessVerdict(broken); why != "" && found.Code != run.Interrupted {
		found = run.Verdict{Code: run.Failure, Message: why}
	}
	if why := r.WireVerdict(); why != "" {
		if found.Message != "" {
			why += "; also: " + found.Message
		}
		found.Code, found.Message = max(found.Code, run.Failure), why
	}
	return found
}

// live runs a scenario in real time.
func (a *app) live(cmd *cobra.Command, cfg *scenario.Config, f *runFlags, l *liveFlags) error {
	plan, err := fabric.NewPlan(cfg)
	if err != nil {
		return wrap(exitInput, err)
	}
	var driver liveDriver
	s := a.simulation(cfg, f)
	s.folder += "-live"
	if len(l.nodes) > 0 {
		s.folder += "-" + strings.NewReplacer("*", "", "?", "", "[", "", "]", "", "/", "").Replace(strings.Join(l.nodes, "-"))
	}
	if system := l.usesSystem(); system || len(l.nodes) > 0 {
		built, err := plan.Build(fabric.Options{})
		if err != nil {
			return wrap(exitInput, err)
		}
		if l.drive.Here, err = engine.MatchNodes(plan.Graph, l.nodes); err != nil {
			return failf(exitInput, "--node: %w", err)
		}
		s.options.Here = l.drive.Here
		if system {
			if err := l.system.Resolve(built.Graph, built.Spec, len(l.nodes) > 0); err != nil {
				return wrap(exitInput, err)
			}
			switch needs := len(l.system.Needs()); {
			case needs == 0: // other processes have all real hosts
			case l.sockets == "":
				wanted := a.folderFor(s.folder)
				folder := run.FreeFolder(wanted, cfg, f.force)
				a.warnMoved(wanted, folder)
				return a.parent(cmd, l, folder)
			default:
				if err := l.open(needs); err != nil {
					return err
				}
			}
		}
	}
	if len(l.nodes) > 0 && !a.quiet {
		fmt.Fprintln(a.err, "xoff: waiting for the nodes of other processes")
	}
	s.options.Drive = func(b *fabric.Fabric, progress func(units.Time)) (run.Driver, error) {
		var err error
		driver.Engine, err = l.drive.Engine(b.Graph, b.Spec, progress)
		return driver, err
	}
	s.options.Extra = func(to *run.Folder) error {
		return to.File(latenessFile, "lateness of events", func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(driver.Report())
		})
	}
	s.line = func(p run.Progress, _ time.Duration) string {
		return fmt.Sprintf("%s of at most %s, p99 lateness %s", human(p.Now), human(cfg.Run.Stop.AtMost), human(driver.Lateness().Quantile(0.99)))
	}
	s.print = func(done *run.Result) error {
		if l.withSim && a.json {
			return nil // compareWithSim prints one document for both
		}
		return a.printRun(done, f.bySize, driver.Report())
	}
	done, err := a.perform(cmd, plan, f, s)
	if done == nil || !l.withSim || cmd.Context().Err() != nil {
		return err
	}
	if simErr := a.compareWithSim(cmd, cfg, done, driver.Report()); simErr != nil {
		return simErr
	}
	return err
}

// lateness prints the lateness of a live run.
func (w *sheet) lateness(r *engine.Report) {
	w.line("  lateness\tp50 %s, p99 %s, worst %s of %s events; half a frame takes %s",
		human(r.P50), human(r.P99), human(r.Worst), count(r.Events), human(r.HalfFrame))
	w.line("  behind\tby more than half a frame for %s of %s", human(r.Behind), human(r.Ran))
	for _, why := range slices.Sorted(maps.Keys(r.Rejected)) {
		w.line("  rejected\t%s frames: %s", count(r.Rejected[why]), why)
	}
	for _, u := range r.Unsent {
		w.line("  not sent\t%s frames on %s: %s", count(u.Frames), u.Port, u.Error)
	}
	for _, v := range r.Vanished {
		w.line("  vanished\t%s: no frame on %s for the last %s", v.Node, v.Port, human(v.Silent))
	}
}

// compareWithSim simulates the scenario of a live run and prints both results.
func (a *app) compareWithSim(cmd *cobra.Command, cfg *scenario.Config, done *run.Result, late *engine.Report) error {
	m := a.newMeter()
	simulated, err := run.Scenario(cmd.Context(), cfg, run.Options{Workers: a.workers, Progress: func(p run.Progress) {
		m.show(func(passed time.Duration) string { return progressLine(p.Now, p.Share(), p.Hops(), passed) })
	}})
	m.clear()
	if err != nil {
		return wrap(exitFailure, err)
	}
	list := engine.Compare(done.Summary, simulated.Summary)
	switch {
	case a.json:
		return wrap(exitFailure, a.printJSON(struct {
			Live      *metrics.Summary  `json:"live"`
			Lateness  *engine.Report    `json:"lateness"`
			Simulated *metrics.Summary  `json:"simulated"`
			Compared  []engine.Compared `json:"compared"`
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
		text := func(v float64) string { return count(uint64(v)) }
		if c.Time {
			text = func(v float64) string { return human(units.Time(v)) }
		}
		w.line("%s\t%s\t%s\t%s\t", c.Name, text(c.Live), text(c.Simulated), change)
	}
	return wrap(exitFailure, w.flush())
}

// open uses the sockets that the parent opened.
func (l *liveFlags) open(count int) error {
	descriptors, err := engine.ParseSockets(l.sockets, count)
	if err != nil {
		return wrap(exitInput, err)
	}
	return wrap(exitFailure, l.system.Open(descriptors))
}

// parent opens sockets and creates interfaces, runs the scenario in an unprivileged child
// process, and removes the interfaces.
func (a *app) parent(cmd *cobra.Command, l *liveFlags, folder string) (err error) {
	who, err := engine.ChildUser(l.user)
	if err != nil {
		return wrap(exitInput, err)
	}
	// A closed terminal acts like Ctrl-C, except under nohup.
	ctx, stop := cmd.Context(), func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	defer stop()
	in := func(_ string, do func() error) error { return do() }
	if l.system.Setup {
		plan, _ := l.system.Plan()
		stopMeter := a.showWorking(fmt.Sprintf("creating %d namespaces", len(plan.Spaces())))
		made, err := netns.Make(ctx, plan)
		stopMeter()
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return failf(exitInterrupted, "interrupted before the run: all namespaces are removed")
		}
		if err != nil {
			return wrap(exitFailure, err)
		}
		defer func() {
			if removeErr := made.Remove(); removeErr != nil {
				err = errors.Join(err, wrap(exitFailure, removeErr))
			}
		}()
		in = made.In
		a.printSetup(plan)
	}
	files, err := engine.OpenSockets(l.system.Needs(), in)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err == nil {
		err = engine.HandOver(folder, run.SummaryFile, who)
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	child := &engine.Child{Args: os.Args, Text: l.text, Files: files, User: who, Folder: folder, Out: a.out, Err: a.err}
	code, err := child.Run(ctx)
	switch {
	case code > 0:
		return &failure{code: code} // the child has printed the reason
	case errors.Is(err, engine.ErrNotBegun):
		return wrap(exitInterrupted, err)
	}
	return wrap(exitFailure, err)
}

// printSetup prints the namespaces and the addresses of real hosts.
func (a *app) printSetup(plan *netns.Plan) {
	if a.quiet {
		return
	}
	var real []string
	for _, p := range plan.Pairs {
		for _, e := range []netns.End{p.A, p.B} {
			if e.Address.IsValid() {
				real = append(real, fmt.Sprintf("%s (%s)", plan.Full(e.Space), e.Address.Addr()))
			}
		}
	}
	fmt.Fprintf(a.err, "xoff: namespaces: %s-{%s}\n", plan.Prefix, strings.Join(plan.Spaces(), ","))
	if len(real) > 0 {
		fmt.Fprintf(a.err, "xoff: real hosts: %s; try: ip netns exec %s ping ...\n", strings.Join(real, ", "), strings.Fields(real[0])[0])
	}
}
