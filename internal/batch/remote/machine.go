package remote

import (
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

// SlotCommand is the process of one slot. It has no business with the server.
func SlotCommand(self string, cpus int) *exec.Cmd {
	cmd := exec.Command(self, "worker", "--slot")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, peer.TokenVariable+"=") || strings.HasPrefix(v, "GOMAXPROCS=")
	}), "GOMAXPROCS="+strconv.Itoa(cpus))
	return cmd
}

// WorkerName names this process among workers.
func WorkerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// FreeMemory is what this machine, or the part of it that this process may use, has
// free; 0 where nobody says.
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

// LogsBeside returns a function that writes the log of a point beside a folder of results.
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
