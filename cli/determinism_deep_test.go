//go:build deep

package cli

import "testing"

func TestDeepResultsIndependentOfSettings(t *testing.T) {
	sameResults(t, []setting{{1, 1, 1}, {1, 2, 1}, {2, 1, 2}, {2, 2, 1}, {2, 2, 2}, {2, 2, 3}, {5, 3, 1}, {5, 4, 3}})
}
