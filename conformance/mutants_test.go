package conformance_test

import (
	"fmt"
	"strings"
	"testing"
)

// recorder replaces testing.TB and collects the errors of a suite.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// mustReject runs a suite on a broken scheme: an error must contain want.
func mustReject(t *testing.T, want string, suite func(testing.TB)) {
	t.Helper()
	r := &recorder{TB: t}
	suite(r)
	if len(r.errors) == 0 {
		t.Fatal("the suite accepts the mutant")
	}
	if all := strings.Join(r.errors, "\n"); !strings.Contains(all, want) {
		t.Errorf("no error contains %q:\n%s", want, all)
	}
}
