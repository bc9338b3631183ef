//go:build deep

package scenario

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDeepCompletions(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		completions(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
}
