package calibrate

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Mutates the source; the tests of this package and of counters must fail.
func TestDeepMistakesInCalibrationAreCaught(t *testing.T) {
	here, formats := []string{"-run=Matrix|Suspects|Counters|Explain", "."}, []string{"-run=.", "../../interop/counters"}
	var group mutant.Group
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"racks are not asked", "model.balance", "r.scale(f, m)", "_ = r", here},
		{"received bytes do not count", "model.balance", "m[i][j] *= out[j] / sum", "m[i][j] *= 1", here},
		{"pauses stay where they are sent", "blame.charge", "b.charge(p.Peer, pauses*weights[i]/sum, hops-1)", "b.shares[p] += pauses * weights[i] / sum", here},
		{"pauses of hosts do not count", "blame.charge", "weights[i]+2*received/hosts", "weights[i]", here},
		{"time does not count", "blame.timed", "max(0.01, correlation(steps(own), pauses))", "1", here},
		{"one sample is enough", "measure", "s.Seconds() <= 0", "false", here},
		{"counters may go backwards", "Set.finish", "a.Value > b.Value", "false", formats},
		{"events of the next period", "node.at", "int(now / n.every)", "int(now/n.every) + 1", formats},
		{"N/A is zero", "source.cell", `text == "N/A"`, "false", formats},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, m.test...)
	}
	group.MustCatch(t)
}
