//go:build deep

package publicsim

import (
	"testing"
)

// Web search on a leaf-spine fabric: 605 flows, with HPCC and PowerTCP.
func TestDeepReference(t *testing.T) {
	agree(t, "S3")
}
