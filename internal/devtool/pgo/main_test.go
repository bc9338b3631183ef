package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// Fields of a hand-made profile: number and wire type, then a value, or a length and bytes.
const (
	mapping  = "\x1a\x04\x28\x01\x30\x02" // field 3, 4 bytes: file is string 1, build string 2
	function = "\x2a\x04\x10\x03\x20\x04" // field 5, 4 bytes: name is string 3, file string 4
	period   = "\x60\x0a"                 // field 12: 10
)

// table returns the string table of a profile: one field 6 per string.
func table(words ...string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString("\x32" + string(rune(len(w))) + w)
	}
	return b.String()
}

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func TestStrip(t *testing.T) {
	profile := mapping + function + table("", "/somewhere/program", "1f2e3d", "sim.run", "sim/fast.go", "samples") + period
	want := mapping + function + table("", "", "", "sim.run", "", "samples") + period
	for range 2 { // the second round has nothing left to strip
		var out bytes.Buffer
		if err := strip(strings.NewReader(packed(profile)), &out); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		profile = want
	}
}

func TestStripRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"not gzip":    "hello",
		"truncated":   packed("\x32\x05ab"),
		"no value":    packed("\x08"),
		"fixed width": packed("\x09\x00\x00\x00\x00\x00\x00\x00\x00"),
	} {
		if err := strip(strings.NewReader(data), io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
