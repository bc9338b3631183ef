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

// latenessFile is a file of the results of live runs.
const latenessFile = "lateness.json"

// liveFlags are those of `xoff live` beside those of every run.
type liveFlags struct {
	beside  bool
	clock   string
	nodes   []string
	mapped  []string
	setup   string // how interfaces are made
	user    string
	sockets string // of the child: which socket is which file
	text    []byte // of the scenario, for the child
	drive   engine.Setup
	system  engine.System
}

// Clocks of live runs. The second is never late and waits for nothing: tests see the whole
// command with it, and what they see does not depend on the machine.
const (
	realClock   = "real"
	manualClock = "manual"
)

const setupNetns = "netns"

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
	flags.BoolVar(&l.beside, "beside", false, "simulate the file, too, and compare")
	flags.StringVar(&l.drive.Wire, "wire", engine.WireMemory, "`WIRE` that carries frames: memory; frames (memory, as the bytes of real frames); "+
		"udp (sockets, also between processes); packet (interfaces of Linux, by --map or --setup)")
	flags.StringArrayVar(&l.nodes, "node", nil, "run these nodes only: `NAME` or a pattern such as leaf* (repeatable); "+
		"the others run elsewhere, with --wire udp or packet")
	flags.StringArrayVar(&l.mapped, "map", nil, "udp: `FILE` with the address of every port, as leaf0.to-host3: 127.0.0.1:5003 "+
		"(default with --node: ports of the loopback interface from --port on); packet: PORT=INTERFACE, as leaf0.to-host3=veth3 (repeatable)")
	flags.IntVar(&l.drive.Port, "port", engine.FirstPort, "first UDP `PORT` where there is no --map; the same for all processes of a run")
	flags.BoolVar(&l.drive.Anywhere, "anywhere", false, "allow addresses beyond the loopback interface: frames are neither encrypted nor signed")
	flags.StringVar(&l.setup, "setup", "", "make interfaces by `METHOD`: netns makes a namespace for each host and a veth pair for each cable, and removes them (root)")
	flags.StringSliceVar(&l.system.Outside, "outside", nil, "real hosts: `HOST=INTERFACE`, such as host6=veth6, or host6 with --setup or for one that is behind another process")
	flags.StringSliceVar(&l.system.Marks, "class", nil, "class of real frames: `MARK=CLASS`, such as dscp26=3 or pcp4=3 "+
		"(default: class n for DSCP 8n to 8n+7 and PCP n if it is lossless or lossy, else the first lossy one)")
	flags.StringVar(&l.system.Prefix, "prefix", "xoff", "`PREFIX` of the names of namespaces")
	flags.StringVar(&l.user, "user", "", "run as `UID:GID` when sockets are open (default for root: who called sudo, else 65534:65534)")
	flags.StringVar(&l.sockets, "sockets", "", "file descriptor `NUMBERS` of sockets that the parent process opened")
	_ = flags.MarkHidden("sockets")
	cmd.Flags().StringVar(&l.clock, "clock", realClock, "`CLOCK`: real, or manual (never late, as fast as it goes; for tests)")
	_ = cmd.Flags().MarkHidden("clock")
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-seedSEED-live)")
	a.simulationFlags(cmd)
	return cmd
}

// check rejects values that are not allowed, and passes the others on to the driver.
func (l *liveFlags) check() error {
	wires := []string{engine.WireMemory, engine.WireFrames, engine.WireUDP, engine.WirePacket}
	far := l.drive.Wire == engine.WireUDP || l.drive.Wire == engine.WirePacket
	system := l.usesSystem()
	switch {
	case l.clock != realClock && l.clock != manualClock:
		return failf(exitInput, "--clock is %q; allowed: %s, %s", l.clock, realClock, manualClock)
	case !slices.Contains(wires, l.drive.Wire):
		return failf(exitInput, "--wire is %q; allowed: %s", l.drive.Wire, strings.Join(wires, ", "))
	case !far && (len(l.nodes) > 0 || len(l.mapped) > 0) || l.drive.Wire != engine.WireUDP && l.drive.Anywhere:
		return failf(exitInput, "--node, --map and --anywhere are about wires to other processes; allowed: with --wire udp or packet, --anywhere with udp")
	case (far || system) && l.clock != realClock:
		return failf(exitInput, "--wire udp, packet and --outside take time; allowed: with --clock real")
	case l.beside && (len(l.nodes) > 0 || len(l.system.Outside) > 0):
		return failf(exitInput, "--beside compares whole runs; allowed: without --node and --outside")
	case l.drive.Wire == engine.WireUDP && len(l.mapped) > 1:
		return failf(exitInput, "--map is there %d times; allowed with --wire udp: one file", len(l.mapped))
	case l.setup != "" && l.setup != setupNetns:
		return failf(exitInput, "--setup is %q; allowed: %s", l.setup, setupNetns)
	case l.setup != "" && (len(l.nodes) > 0 || len(l.mapped) > 0 || l.drive.Wire == engine.WireUDP):
		return failf(exitInput, "--setup makes all nodes of a run; allowed: without --node, --map and --wire udp")
	case l.setup != "" && l.drive.Wire != engine.WirePacket && len(l.system.Outside) == 0:
		return failf(exitInput, "--setup makes interfaces, and nothing is to use one; allowed: with --wire packet, its default, or --outside")
	case l.setup != "" && netns.CheckPrefix(l.system.Prefix) != nil:
		return failf(exitInput, "--prefix: %w", netns.CheckPrefix(l.system.Prefix))
	case l.drive.Wire == engine.WirePacket && l.setup == "" && len(l.mapped) == 0:
		return failf(exitInput, "--wire packet needs interfaces; allowed: with --map PORT=INTERFACE or --setup netns")
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

// usesSystem reports whether a run needs anything of the system.
func (l *liveFlags) usesSystem() bool {
	return l.setup != "" || l.drive.Wire == engine.WirePacket || len(l.system.Outside) > 0
}

// read reads the scenario. The child gets its text from its parent, by standard input: it may
// not be allowed to read the file, and of standard input there is but one.
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

// liveDriver is a driver whose lateness may have decided results.
type liveDriver struct{ *engine.Engine }

// Judge implements run.Judging.
func (d liveDriver) Judge(s *metrics.Summary, found run.Verdict) run.Verdict {
	if why := d.Report().Decides(s.Drops.Broken); why != "" && found.Code != run.Interrupted {
		return run.Verdict{Code: run.Failure, Message: why}
	}
	return found
}

// live runs a scenario with the real clock.
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
			case needs == 0: // all real hosts are elsewhere
			case l.sockets == "":
				wanted := a.folderFor(s.folder)
				folder := run.FreeFolder(wanted, cfg, f.force)
				a.tellMoved(wanted, folder)
				return a.parent(cmd, l, folder)
			default:
				if err := l.open(needs); err != nil {
					return err
				}
			}
		}
	}
	if len(l.nodes) > 0 && !a.quiet {
		fmt.Fprintln(a.err, "xoff: waiting for the nodes that run elsewhere")
	}
	s.options.Drive = func(b *fabric.Fabric, progress func(units.Time)) (run.Driver, error) {
		var err error
		driver.Engine, err = l.drive.Engine(b.Graph, b.Spec, progress)
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
func (w *sheet) lateness(r *engine.Report) {
	w.line("  late\t%s events: half of them by %s, 1 of 100 by %s or more, the worst by %s; half a frame takes %s", count(r.Events),
		human(r.P50), human(r.P99), human(r.Worst), human(r.HalfFrame))
	w.line("  behind\t%s of %s, by more than half a frame", human(r.Behind), human(r.Ran))
	for _, why := range slices.Sorted(maps.Keys(r.Strange)) {
		w.line("  not taken\t%s frames: %s", count(r.Strange[why]), why)
	}
}

// besides simulates what was run live, and compares.
func (a *app) besides(cmd *cobra.Command, cfg *scenario.Config, done *run.Result, late *engine.Report) error {
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

// open maps the sockets that the parent has opened.
func (l *liveFlags) open(count int) error {
	descriptors, err := engine.ParseSockets(l.sockets, count)
	if err != nil {
		return wrap(exitInput, err)
	}
	return wrap(exitFailure, l.system.Open(descriptors))
}

// parent makes what a run needs of the system, runs it as a child without privileges, and
// removes what it made.
func (a *app) parent(cmd *cobra.Command, l *liveFlags, folder string) (err error) {
	who, err := engine.ChildUser(l.user)
	if err != nil {
		return wrap(exitInput, err)
	}
	// A terminal that is closed is as good as Ctrl-C; one that nohup spoke of is not.
	ctx, stop := cmd.Context(), func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	defer stop()
	in := func(_ string, do func() error) error { return do() }
	if l.system.Setup {
		plan, _ := l.system.Plan()
		over := a.meanwhile(fmt.Sprintf("makes %d namespaces", len(plan.Spaces())))
		made, err := netns.Make(ctx, plan)
		over()
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return failf(exitInterrupted, "interrupted; nothing was run, and everything is removed")
		}
		if err != nil {
			return wrap(exitFailure, err)
		}
		defer func() {
			if gone := made.Remove(); gone != nil {
				err = errors.Join(err, wrap(exitFailure, gone))
			}
		}()
		in = made.In
		a.tellSetup(plan)
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
		return &failure{code: code} // it has said why
	case errors.Is(err, engine.ErrNotBegun):
		return wrap(exitInterrupted, err)
	}
	return wrap(exitFailure, err)
}

// tellSetup says where things are.
func (a *app) tellSetup(plan *netns.Plan) {
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
		fmt.Fprintf(a.err, "xoff: real hosts: %s; as in: ip netns exec %s ping ...\n", strings.Join(real, ", "), strings.Fields(real[0])[0])
	}
}
