package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// spin is a function that the profile of the test must show.
//
//go:noinline
func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		n++
	}
	return n
}

func plain(t *testing.T, profile []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStrip(t *testing.T) {
	var taken, stripped, again bytes.Buffer
	if err := pprof.StartCPUProfile(&taken); err != nil {
		t.Skipf("another profile is being taken: %v", err)
	}
	spin(time.Now().Add(100 * time.Millisecond))
	pprof.StopCPUProfile()
	if err := strip(bytes.NewReader(taken.Bytes()), &stripped); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before, after := plain(t, taken.Bytes()), plain(t, stripped.Bytes())
	for _, word := range []string{program, "main_test.go", ".go"} {
		if !strings.Contains(before, word) {
			t.Errorf("the profile as taken does not name %q: the test shows nothing", word)
		}
		if strings.Contains(after, word) {
			t.Errorf("the stripped profile names %q", word)
		}
	}
	for _, word := range []string{"pgo.spin", "samples", "nanoseconds"} {
		if !strings.Contains(after, word) {
			t.Errorf("the stripped profile lost %q", word)
		}
	}
	if err := strip(bytes.NewReader(stripped.Bytes()), &again); err != nil || plain(t, again.Bytes()) != after {
		t.Errorf("stripping twice differs: %v", err)
	}
}

func TestStripRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"no profile":  "hello",
		"cut off":     packed("\x32\x05ab"),
		"no value":    packed("\x08"),
		"fixed width": packed("\x09\x00\x00\x00\x00\x00\x00\x00\x00"),
	} {
		if err := strip(strings.NewReader(data), io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}
