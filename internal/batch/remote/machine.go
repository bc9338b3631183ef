package remote

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// SlotCommand returns the command of a slot's process, limited to cpus. It starts the
// executable of this process and does not pass on the server's token.
func SlotCommand(cpus int) (*exec.Cmd, error) {
	cmd, err := sweep.SelfCommand(context.Background(), "worker", "--slot")
	if err != nil {
		return nil, err
	}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, peer.TokenVariable+"=") || strings.HasPrefix(v, "GOMAXPROCS=")
	}), "GOMAXPROCS="+strconv.Itoa(cpus))
	return cmd, nil
}

// WorkerName returns a name for this process that is unique among workers.
func WorkerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// FreeMemory returns the free memory of this machine or of this process's cgroup, in
// bytes; 0 if it is unknown.
func FreeMemory() int64 {
	free := int64(0)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
				if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
					free = kib << 10
				}
			}
		}
	}
	if data, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && (free == 0 || limit < free) {
			free = limit
		}
	}
	return free
}

// LogsBeside returns a function that writes the log of a point next to a results folder.
func LogsBeside(folder string) func(*sweep.Point, string) (string, error) {
	return func(p *sweep.Point, log string) (string, error) {
		below := folder + "-log"
		path := filepath.Join(below, p.Folder+".txt")
		if err := os.MkdirAll(below, 0o755); err != nil {
			return "", err
		}
		return path, os.WriteFile(path, []byte(log), 0o644)
	}
}
