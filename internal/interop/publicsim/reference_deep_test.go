//go:build deep

package publicsim

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// Web search on a leaf-spine fabric: 605 flows, with HPCC and PowerTCP.
func TestDeepReference(t *testing.T) {
	deep.Turn(t)
	agree(t, "S3")
}
