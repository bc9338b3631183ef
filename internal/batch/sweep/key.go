package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/xoff-net/xoff/fabric"
)

// Key says what the results of a point depend on. Finished results are used
// again only when all of it is the same.
type Key struct {
	Scenario   string `json:"scenario_sha256"`   // of the resolved scenario, its flows and its fabric
	Executable string `json:"executable_sha256"` // of the program
	Options    string `json:"options"`           // of the command, as far as they show in results
}

// Executable returns the hash of the running program: whatever was built anew
// counts as another one.
var Executable = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe") // on Linux: what runs, even if its name is another program's by now
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

// hashScenario covers the resolved scenario and what it was built into: files
// that a scenario names (sizes, topologies, traces) may change under the same
// name.
func hashScenario(b *fabric.Fabric) (string, error) {
	resolved, err := b.Config.Canonical()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, _ = h.Write(resolved)
	// There can be a million flows: no fmt for these.
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
	fmt.Fprint(h, b.Waits, " ", b.Workloads, " ")
	line = append(appendNumbers(line[:0], b.Origin), ' ')
	_, _ = h.Write(append(appendNumbers(line, b.Groups), '\n'))
	fmt.Fprintln(h, b.Graph.Names)
	for _, l := range b.Graph.Links {
		fmt.Fprintln(h, l.A, l.PortA, l.B, l.PortB, l.Rate, l.Delay)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// appendNumbers prints a list as fmt does.
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

// maxLabel bounds the readable part of a folder's name.
const maxLabel = 80

// folderName is the readable part of the name of a point's folder: short forms of its
// keys and values.
func folderName(axes []Axis, p *Point) string {
	var keys, parts []string
	for _, a := range axes {
		keys = append(keys, a.Key)
	}
	for i, k := range shortKeys(keys) {
		parts = append(parts, k+"="+shortValue(p.Values[i]))
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

// assign gives every point its folder: readable, and with a part of the hash so
// that a changed scenario never meets the results of the old one.
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
