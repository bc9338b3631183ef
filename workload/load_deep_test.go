//go:build deep

package workload

import "testing"

func TestDeepPoissonLoad(t *testing.T) {
	poissonLoad(t, []ofSizes{{"websearch", 1e6}, {"websearch_ns3", 1e6}, {"ali_storage", 1e6}, {"cache", 1e6}, {"data_mining", 6e6}})
}
