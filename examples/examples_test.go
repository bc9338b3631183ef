package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/examples"
)

// Every example begins with a sentence that says what it shows. Package scenario tests that
// it runs.
func TestSentences(t *testing.T) {
	if len(examples.All()) < 6 {
		t.Error("examples are missing")
	}
	for _, e := range examples.All() {
		if len(e.Doc) < 20 || len(e.Doc) > 200 {
			t.Errorf("%s: first sentence is %q (expected 20 to 200 characters)", e.Name, e.Doc)
		}
	}
}

// README.md lists all examples.
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
	if e, err := examples.Get("fanin"); err != nil || e.Doc != "Web search traffic with bursts of 16-to-1 fan-in, all classes lossless" {
		t.Errorf("got %q, %v", e.Doc, err)
	}
	_, err := examples.Get("fanni")
	if err == nil {
		t.Fatal("no error for the unknown name fanni")
	}
	if want := `unknown template "fanni"; did you mean "fanin"? (allowed: `; len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("got %v", err)
	}
}
