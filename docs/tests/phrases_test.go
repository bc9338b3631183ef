package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/cli"
)

// bannedPhrases are wordings that readers had to decode, each with what to write instead.
var bannedPhrases = map[string]string{
	"held against":               "compared with, or the name of the threshold",
	"hold against":               "compare with",
	"holds against":              "compares with",
	"hold results against":       "compare results with",
	"holds results against":      "compares results with",
	"what of a sink":             "returns s as ..., or nil",
	"of theirs":                  "name the owner",
	"nobody watches":             "installed only when a sink is attached",
	"is to be thought of":        "verdict",
	"is to be said":              "finding",
	"scenarios that say nothing": "default",
	"that say nothing get":       "default",
	"there was no room for":      "dropped for lack of room",
	"those that there are":       "unknown name; did you mean ...",
	"what there is":              "name the things",
	"how others call":            "hostname, address",
	"is no time":                 "`from` must be before `to`",
	"it is not said":             "... is missing",
	"so many":                    "the number",
	"told apart by":              "group by",
	"went as it did":             "explain",
	"by the way":                 "by accident",
	"reckon":                     "work out, compute",
	"reckoned":                   "worked out, computed",
	"reckons":                    "works out, computes",
	"takes long to read":         "takes long to analyse",
	"figures that answer":        "interactive figures",
	"texts have":                 "text is",
	"without a word":             "silently",
	"from more on than":          "above",
	"show of themselves":         "gauges that schemes export",
	"alike":                      "identical",
	"--beside":                   "--with-sim",
	"of which the same":          "identical",
	"sent again":                 "retransmitted",
	"stood still":                "was paused",
	"stand still":                "are paused",
	"stands still":               "is paused",
	"could not send for":         "was paused for",
	"gives up, or forwards":      "drops or forwards",
	"budget is.":                 "budget is exhausted",
	"make a scenario of":         "create a scenario from",
	"pixels at least":            "at least ... px",
	"the house":                  "overview",
	"collected in one place":     "merged",
	"parseapart":                 "ParseSandboxed",
	"as it does":                 "name what it does",
	"mend:":                      "fix:",
	"; allowed":                  "(expected ...), or (allowed: ...) for a list of values",
	"that of":                    "name the thing",
	"those of":                   "name the things",
}

// lineBreak matches what separates two lines of a comment, paragraph or string.
var lineBreak = regexp.MustCompile("[\"`] \\+\n[ \t]*[\"`]|\n[ \t]*(//|#|>)?")

// banned returns the banned phrases of a text as whole words, also those that continue on the
// next line.
func banned(text string) (found []string) {
	text = strings.Join(strings.Fields(lineBreak.ReplaceAllString(strings.ToLower(text), " ")), " ")
	for phrase := range bannedPhrases {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], phrase)
			if i < 0 {
				break
			}
			at += i
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
			starts := strings.HasPrefix(phrase, ";") || !wordRune(before) && before != '-'
			if starts && (!wordRune(after) || strings.HasSuffix(phrase, ":")) {
				found = append(found, phrase)
			}
		}
	}
	return found
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// Code, documents, scenarios and help use the words of docs/glossary.md.
func TestBannedPhrases(t *testing.T) {
	ends := map[string]bool{".go": true, ".md": true, ".yaml": true, ".txtar": true, ".tmpl": true, ".js": true, ".golden": true, ".txt": true, ".lua": true, ".mjs": true, ".css": true, ".html": true}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), "."), entry.Name() == "node_modules":
			return filepath.SkipDir
		case entry.IsDir() || !ends[filepath.Ext(path)] || entry.Name() == "phrases_test.go" || entry.Name() == "glossary.md":
			return nil
		}
		reportBanned(t, path, readText(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var help func(c *cobra.Command)
	help = func(c *cobra.Command) {
		reportBanned(t, c.CommandPath(), c.Long+"\n"+c.UsageString())
		for _, sub := range c.Commands() {
			help(sub)
		}
	}
	help(cli.Command())
}

// reportBanned fails for every banned phrase in a text.
func reportBanned(t *testing.T, name, text string) {
	t.Helper()
	for _, phrase := range banned(text) {
		t.Errorf("%s: %q (write %s)", name, phrase, bannedPhrases[phrase])
	}
}

func TestBanned(t *testing.T) {
	for text, want := range map[string]int{
		"queue is held\n// against its threshold":     1,
		"\t// it is not\n\t// said what this changes": 1,
		"closes a class whose budget is.":             1,
		"\"it is \" +\n\t\"not said\"":                1,
		"closes a class whose budget is exhausted.":   0,
		"Mend: more buffer":                           1,
		"spare is 0; allowed: 1 or more":              1,
		"it is alike, and so many":                    2,
		"recommend: nothing":                          0,
		"a queue that offers":                         0,
	} {
		if got := banned(text); len(got) != want {
			t.Errorf("%q: found %q, expected %d phrases", text, got, want)
		}
	}
}
