package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/examples"
)

// Every example says in one sentence what it shows. That it runs is tested in
// package scenario.
func TestSentences(t *testing.T) {
	if len(examples.All()) < 6 {
		t.Error("examples are missing")
	}
	for _, e := range examples.All() {
		if len(e.Doc) < 20 || len(e.Doc) > 200 {
			t.Errorf("%s: %q is no sentence that says what it shows", e.Name, e.Doc)
		}
	}
}

// The list of examples has all of them.
func TestListed(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples.All() {
		if !strings.Contains(string(text), "`"+e.Name+"`") {
			t.Errorf("README.md does not mention %s", e.Name)
		}
	}
}

func TestGet(t *testing.T) {
	if e, err := examples.Get("fanin"); err != nil || e.Doc != "Web search traffic with bursts of 16-to-1 fan-in on top, all classes lossless" {
		t.Errorf("got %q, %v", e.Doc, err)
	}
	_, err := examples.Get("fanni")
	if err == nil {
		t.Fatal("there is no fanni")
	}
	if want := `unknown template "fanni" (did you mean "fanin"?); allowed: `; len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("got %v", err)
	}
}
