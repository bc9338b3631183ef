package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/remote"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// workerFlags are the flags of `xoff worker`.
type workerFlags struct {
	accessFlags
	cpus   int
	memory string
	idle   time.Duration
	slot   bool
}

func (a *app) workerCommand() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Compute points of sweeps that run elsewhere",
		Long: `Connects to a server of NATS and computes points of every xoff sweep --nats and xoff
reproduce --nats that uses it, until it is stopped. Workers may come and go at any time:
a point that was being computed goes to another one. No file system is shared; a
scenario from elsewhere reads no file of this machine (docs/cluster.md).

  xoff-hub --listen 0.0.0.0                                    shows its token
  xoff sweep mine.yaml --seeds 500 --nats nats://127.0.0.1:4222 --nats-token FILE
  xoff worker nats://first-machine:4222 --nats-token FILE      on any machine`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.slot && len(args) == 0 {
				return nil
			}
			if len(args) != 1 {
				return failf(exitInput, "%d addresses; allowed: xoff worker URL, such as nats://first-machine:4222", len(args))
			}
			return wrap(exitInput, remote.CheckURL(args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.slot {
				// Ctrl-C reaches it, too; what becomes of its point is for the worker to say.
				signal.Ignore(os.Interrupt, syscall.SIGTERM)
				return wrap(exitFailure, remote.ServeSlot(cmd.Context(), os.Stdin, a.out))
			}
			return a.worker(cmd, args[0], f)
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.cpus, "cpus", 1, "`N` of the --workers compute each point")
	flags.StringVar(&f.memory, "memory", "", "memory `SIZE` that all points may take together, such as 16GiB (default: what is free now)")
	flags.DurationVar(&f.idle, "idle", 0, "leave after `TIME` without work (default: stay)")
	flags.BoolVar(&f.slot, "slot", false, "compute points that come by standard input")
	_ = flags.MarkHidden("slot")
	a.outputFlag(cmd, "`FOLDER` for temporary files (default: the system's)")
	a.quietFlag(cmd)
	a.workersFlag(cmd)
	return cmd
}

func (a *app) worker(cmd *cobra.Command, address string, f *workerFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	if f.cpus < 1 || f.cpus > a.workers {
		return failf(exitInput, "--cpus is %d; allowed: 1 to the %d of --workers", f.cpus, a.workers)
	}
	access, err := f.read()
	if err != nil {
		return err
	}
	slots := a.workers / f.cpus
	memory, err := parseMemory(f.memory)
	if err != nil {
		return err
	}
	if memory == 0 {
		memory = remote.FreeMemory()
	}
	program, err := sweep.Executable()
	if err != nil {
		return wrap(exitFailure, err)
	}
	self, err := os.Executable()
	if err != nil {
		return wrap(exitFailure, err)
	}
	folder, err := os.MkdirTemp(a.folder, "xoff-worker-")
	if err != nil {
		return wrap(exitInput, err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	w := &remote.Worker{
		Name: remote.WorkerName(), Program: program, Slots: slots, Cores: f.cpus, Memory: memory / int64(slots), Folder: folder, Idle: f.idle,
		Slot: func() *exec.Cmd { return remote.SlotCommand(self, f.cpus) }, Log: a.logger(nil),
	}
	if a.quiet {
		w.Log = func(string) {}
	}
	computed, err := w.Run(cmd.Context(), address, access)
	switch {
	case cmd.Context().Err() != nil:
		return failf(exitInterrupted, "interrupted after %d points; what was being computed goes to other workers", computed)
	case remote.IsRefused(err):
		return wrap(exitInput, err)
	case err != nil:
		return wrap(exitFailure, err)
	}
	if !a.quiet {
		fmt.Fprintf(a.out, "computed %d points\n", computed)
	}
	return nil
}
