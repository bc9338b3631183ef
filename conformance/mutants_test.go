package conformance_test

import (
	"fmt"
	"strings"
	"testing"
)

// recorder stands in for testing.TB: it collects what a suite complains about.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// mustReject runs a suite on a broken scheme: it must complain, and about that.
func mustReject(t *testing.T, about string, suite func(testing.TB)) {
	t.Helper()
	r := &recorder{TB: t}
	suite(r)
	if len(r.said) == 0 {
		t.Fatal("the suite accepts it")
	}
	if all := strings.Join(r.said, "\n"); !strings.Contains(all, about) {
		t.Errorf("the suite does not mention %q:\n%s", about, all)
	}
}
