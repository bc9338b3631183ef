//go:build deep

package fabric_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepJobsAgree(t *testing.T) { agreeOnJobs(t, 200) }

func TestDeepHTSimSamples(t *testing.T) {
	deep.Turn(t)
	runHTSimSamples(t, "100ms", true)
}
