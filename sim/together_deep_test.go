//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepReverieDSHRoundabout(t *testing.T) {
	var v togetherCoverage
	together{policy: "reverie", ports: "dsh", handler: "roundabout"}.keeps(t, trials.First(400), 600, &v)
	t.Log(&v)
}

// Every combination runs in two random fabrics and a random loop; with a long link, in three fabrics.
func TestDeepCombinations(t *testing.T) {
	var v togetherCoverage
	list := combinations()
	for _, i := range trials.First(3 * len(list)) {
		list[i/3].keeps(t, []int{i}, 400, &v)
	}
	t.Log(&v)
}
