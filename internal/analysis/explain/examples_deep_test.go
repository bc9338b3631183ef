//go:build deep

package explain_test

import (
	"path/filepath"
	"testing"
)

func TestDeepExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	explained(t, files)
}
