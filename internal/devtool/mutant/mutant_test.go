package mutant

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	s := sources{
		"a/x.go": "package a\n\ntype T[K any] struct{}\n\nfunc (t *T[K]) Do() { one(); two(); two() }\n\nfunc Do() { one() }\n",
		"b/y.go": "package b\n\ntype T struct{}\n\nfunc (T) Do() { three() }\n",
	}
	for _, c := range []struct{ function, right, file, wrong string }{
		{"T.Do", "one()", "a/x.go", ""},
		{"T.Do", "three()", "b/y.go", ""},
		{"Do", "one()", "a/x.go", ""},
		{"T.Do", "two()", "", `0 functions T.Do contain "two()" once (expected 1): `},
		{"T.Do", "() {", "", `2 functions T.Do contain "() {" once`},
		{"U.Do", "one()", "", "no function U.Do in the module"},
	} {
		p, err := s.find(c.function, c.right)
		if c.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.wrong) {
				t.Errorf("%s %q: %v, want %s", c.function, c.right, err, c.wrong)
			}
			continue
		}
		if err != nil || p.file != c.file || !strings.HasPrefix(p.text[p.at:], c.right) {
			t.Errorf("%s %q: %s, %v", c.function, c.right, p.file, err)
		}
	}
}
