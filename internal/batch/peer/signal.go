package peer

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal returns a context that ends with ctx or with SIGINT, SIGTERM or SIGHUP. A
// second signal calls clean and ends the process with exit code 130. The caller calls stop
// at the end.
func UntilSignal(ctx context.Context, clean func()) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, signals...)
	over := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-over:
				return
			case <-arrived:
				if n == 2 {
					clean()
					os.Exit(130)
				}
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(arrived)
		close(over)
		cancel()
	}
}
