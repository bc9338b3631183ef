package engine

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// mustJudge is an environment variable with the name of a file. If it is set, the tests with the
// real clock may not all be skipped, and the last line is written to the file, too, because go test
// shows no output of packages that pass. .ci/run sets it.
const mustJudge = "XOFF_TEST_LIVE"

// realClock counts the tests with the real clock that were judged, and names those that were not.
var realClock struct {
	sync.Mutex
	judged int
	late   []string
}

// TestMain says in the last line of output which tests with the real clock could not be judged.
func TestMain(m *testing.M) {
	code := m.Run()
	if n := len(realClock.late); n > 0 || realClock.judged > 0 {
		line := fmt.Sprintf("live: %d tests with the real clock judged, %d skipped because the machine was late%s\n",
			realClock.judged, n, strings.Join(append([]string{""}, realClock.late...), "\n  "))
		fmt.Print(line)
		if file := os.Getenv(mustJudge); file != "" {
			if err := os.WriteFile(file, []byte(line), 0o600); err != nil || realClock.judged == 0 {
				code = 1
			}
		}
	}
	os.Exit(code)
}

// punctual decides a test with the real clock: wrong says what is wrong, or is empty. It skips
// the test if something is wrong and one of its engines was late: then sockets may have overflowed,
// headroom may have been exceeded, or peers may have seemed silent.
func punctual(t *testing.T, wrong string, engines ...*Engine) {
	t.Helper()
	realClock.Lock()
	defer realClock.Unlock()
	for _, e := range engines {
		if wrong == "" {
			break
		}
		if why := e.Report().LatenessVerdict(1); why != "" {
			realClock.late = append(realClock.late, fmt.Sprintf("%s: %s (%s)", t.Name(), wrong, why))
			t.Skipf("the machine was late (%s): %s", why, wrong)
		}
	}
	realClock.judged++
	if wrong != "" {
		t.Error(wrong)
	}
}
