package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xoff-net/xoff/fabric"
)

// Key identifies everything that the results of a point depend on. Finished results are
// reused only if the key is equal.
type Key struct {
	Scenario   string `json:"scenario_sha256"`   // resolved scenario, its flows and its fabric
	Executable string `json:"executable_sha256"` // executable of xoff
	Options    string `json:"options"`           // command options that affect results, see OptionsKey
}

// runningImage is, on Linux, the executable file of the process that opens or starts it,
// even if its path was replaced.
const runningImage = "/proc/self/exe"

// Executable returns the hash of the running executable. Every rebuild has another hash.
var Executable = sync.OnceValues(func() (string, error) {
	f, err := os.Open(runningImage)
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		if f, err = os.Open(path); err != nil {
			return "", err
		}
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})

// SelfCommand returns a command that starts the executable of this process once more. On
// Linux it starts the running image, even if the file at its path was replaced. Elsewhere
// the new process must compare its own hash.
func SelfCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	if _, err := os.Stat(runningImage); err == nil {
		cmd.Path = runningImage // args[0] stays the path, for ps
	}
	return cmd, nil
}

// hashScenario hashes the resolved scenario and the fabric built from it, because files
// that a scenario names (sizes, topologies, traces) may change.
func hashScenario(b *fabric.Fabric) (string, error) {
	resolved, err := b.Config.Canonical()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, _ = h.Write(resolved)
	// Without fmt, since there can be a million flows.
	var line []byte
	for i := range b.Flows.Flow {
		f := &b.Flows.Flow[i]
		line = append(append(line[:0], f.Start.String()...), ' ')
		line = append(line, f.Size.String()...)
		for _, n := range [...]int64{int64(f.Src), int64(f.Dst), int64(f.Class), int64(f.Hash)} {
			line = strconv.AppendInt(append(line, ' '), n, 10)
		}
		_, _ = h.Write(append(line, '\n'))
	}
	fmt.Fprint(h, slices.Collect(b.Flows.Dependencies()), " ", b.Workloads, " ")
	line = append(appendNumbers(line[:0], b.Origin), ' ')
	_, _ = h.Write(append(appendNumbers(line, b.Groups), '\n'))
	fmt.Fprintln(h, b.Graph.Names)
	for _, l := range b.Graph.Links {
		fmt.Fprintln(h, l.A, l.PortA, l.B, l.PortB, l.Rate, l.Delay)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// appendNumbers formats a list like fmt.
func appendNumbers(text []byte, list []int32) []byte {
	text = append(text, '[')
	for i, n := range list {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, ']')
}

// maxLabel is the maximum length of the readable part of a folder name.
const maxLabel = 80

// folderName returns the readable part of the name of a point's folder: short forms of its
// keys and values.
func folderName(axes []Axis, p *Point) string {
	var keys, parts []string
	for _, a := range axes {
		keys = append(keys, a.Key)
	}
	for i, k := range ShortKeys(keys) {
		parts = append(parts, k+"="+ShortValue(p.Values[i]))
	}
	parts = append(parts, fmt.Sprintf("seed=%d", p.Seed))
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("=,._-+", r):
			return r
		case r == ' ':
			return -1
		}
		return '_'
	}, strings.Join(parts, ","))
	return strings.TrimLeft(name[:min(len(name), maxLabel)], ".-")
}

// assign sets the folder of every point: a readable part and a part of the scenario's hash,
// so that a changed scenario never reuses old results.
func assign(axes []Axis, points []*Point) {
	taken := make(map[string]bool)
	for _, p := range points {
		name := folderName(axes, p) + "-" + p.Key.Scenario[:8]
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%s-%d", folderName(axes, p), p.Key.Scenario[:8], n)
		}
		taken[name] = true
		p.Folder = name
	}
}
