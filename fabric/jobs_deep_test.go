//go:build deep

package fabric_test

import (
	"testing"
)

func TestDeepJobsAgree(t *testing.T) { agreeOnJobs(t, 200) }

func TestDeepHTSimSamples(t *testing.T) {
	runHTSimSamples(t, "100ms", true)
}
