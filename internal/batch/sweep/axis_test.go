package sweep

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAxis(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // values joined by |, or part of the error
		bad  bool
	}{
		{"a.b=1,2,3", "1|2|3", false},
		{"a=1/16, 1/8 ,1/4", "1/16|1/8|1/4", false},
		{"a={name: dt, alpha: 1/8},{name: static}", "{name: dt, alpha: 1/8}|{name: static}", false},
		{"a=[1, 2],[{x: [3, 4]}],5", "[1, 2]|[{x: [3, 4]}]|5", false},
		{`a="x,y",'z,}'`, `"x,y"|'z,}'`, false},
		{"a=0.1..0.9/0.2", "0.1|0.3|0.5|0.7|0.9", false},
		{"a=0.1..1/0.45", "0.1|0.55|1", false},
		{"a=1..4", "1|2|3|4", false},
		{"a=10us..30us/10us,1ms", "10us|20us|30us|1ms", false},
		{"a=-1..1/1", "-1|0|1", false},
		{"a=x=y", "x=y", false},
		{"a=1.5", "1.5", false},
		{"a", "has no key or no values", true},
		{"=1", "has no key or no values", true},
		{"a=", "has no key or no values", true},
		{"a=1,,2", "empty", true},
		{"a=1,2,", "empty", true},
		{"a=1,2,1", "twice", true},
		{"a=1..3,2", "twice", true},
		{"a={x: 1", `"}" is missing`, true},
		{"a={x: 1]", "no matching opening bracket", true},
		{"a='x", "is missing", true},
		{"a=5..1", "is empty", true},
		{"a=1..5/0", "is empty", true},
		{"a=1us..5ms/1us", "mixes units", true},
		{"a=0..1/0.00001", "more than 10000", true},
		{"seed=1,2", "--seeds", true},
	} {
		got, err := ParseAxis(c.text)
		switch {
		case c.bad && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.text, err, c.want)
		case !c.bad && (err != nil || strings.Join(got.Values, "|") != c.want):
			t.Errorf("%s: %q, %v, want %q", c.text, got.Values, err, c.want)
		}
	}
}

func FuzzParseAxis(f *testing.F) {
	for _, s := range []string{"a=1,2", "a={x: [1,2]},3", "a=0.1..0.9/0.2", "a='", "a=1..2us/3", "=", "a=]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		axis, err := ParseAxis(s)
		if err == nil && (axis.Key == "" || len(axis.Values) == 0 || slices.Contains(axis.Values, "")) {
			t.Errorf("%q: %+v", s, axis)
		}
	})
}

func TestParseSeeds(t *testing.T) {
	const last = 1<<64 - 1
	for _, c := range []struct {
		text  string
		first uint64
		want  []uint64
	}{
		{"3", 7, []uint64{7, 8, 9}},
		{"1", last, []uint64{last}},
		{"1,2,5", 7, []uint64{1, 2, 5}},
		{"3..5,9", 7, []uint64{3, 4, 5, 9}},
		{"0", 1, nil},
		{"2", last, nil},
		{"-1", 1, nil},
		{"1,1", 1, nil},
		{"1.5,2", 1, nil},
		{"one", 1, nil},
		{"", 1, nil},
		{"100000", 1, nil},
	} {
		got, err := ParseSeeds(c.text, c.first)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}
