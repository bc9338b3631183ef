package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/batch/remote"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
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
		Short: "Compute points for sweeps on other machines",
		Long: `Connect to a NATS server and compute points for every xoff sweep --nats and xoff
reproduce --nats that uses it, until stopped. Workers may join and leave at any time:
unfinished points go to other workers. They share no file system, and a received
scenario cannot read files of this machine (docs/cluster.md).

Start a hub, which prints its token, then a sweep, then workers on any machine:

  xoff-hub --listen 0.0.0.0
  xoff sweep mine.yaml --seeds 500 --nats nats://127.0.0.1:4222 --nats-token FILE
  xoff worker nats://first-machine:4222 --nats-token FILE`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.slot && len(args) == 0 {
				return nil
			}
			if len(args) != 1 {
				return failf(exitInput, "found %d addresses (expected xoff worker URL, such as nats://first-machine:4222)", len(args))
			}
			return wrap(exitInput, remote.CheckURL(args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.slot {
				// Ctrl-C also reaches this process, but the worker decides about its point.
				signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
				return wrap(exitFailure, remote.ServeSlot(cmd.Context(), os.Stdin, a.out))
			}
			return a.worker(cmd, args[0], f)
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.cpus, "cpus", 1, "number `N` of --workers per point")
	flags.StringVar(&f.memory, "memory", "", "memory `SIZE` for all points together, such as 16GiB (default: the free memory)")
	flags.DurationVar(&f.idle, "idle", 0, "`TIME` without work after which the worker exits (default: never)")
	flags.BoolVar(&f.slot, "slot", false, "compute points from standard input")
	_ = flags.MarkHidden("slot")
	a.outputFlag(cmd, "`FOLDER` for temporary files (default: the system's temporary folder)")
	a.quietFlag(cmd)
	a.workersFlag(cmd)
	pointLimitFlag(cmd)
	return cmd
}

func (a *app) worker(cmd *cobra.Command, address string, f *workerFlags) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	if f.cpus < 1 || f.cpus > a.workers {
		return failf(exitInput, "--cpus is %d (expected 1 to --workers, %d)", f.cpus, a.workers)
	}
	access, err := f.read(cmd)
	if err != nil {
		return err
	}
	limit, err := pointLimit(cmd)
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
	temp, err := disk.NewTemp(a.folder, "xoff-worker")
	if err != nil {
		return wrap(exitInput, err)
	}
	remove := func() { _ = temp.Remove() }
	defer remove()
	ctx, stop := peer.UntilSignal(cmd.Context(), remove)
	defer stop()
	w := &remote.Worker{
		Name: remote.WorkerName(), Program: program, Slots: slots, Cores: f.cpus, Memory: memory / int64(slots), Folder: temp.Folder, Idle: f.idle, Limit: limit,
		Slot: func() (*exec.Cmd, error) { return remote.SlotCommand(f.cpus) }, Log: a.logger(nil),
	}
	if a.quiet {
		w.Log = func(string) {}
	}
	computed, err := w.Run(ctx, address, access)
	switch {
	case ctx.Err() != nil:
		return failf(exitInterrupted, "interrupted after %d points; unfinished points go to other workers", computed)
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
