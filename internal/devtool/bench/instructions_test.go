package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// .ci/instructions skips the comparison and prints why if the stored counts are from another
// tool: counts of valgrind and perf are not comparable.
func TestInstructionsSkipOtherTool(t *testing.T) {
	script, err := filepath.Abs("../../../.ci/instructions")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, tool := range []string{"bash", "env", "dirname", "mktemp", "rm", "grep", "sed", "paste", "go"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	perf := "#!/usr/bin/env bash\necho 1000,,instructions:u >&2\n"
	if err := os.WriteFile(filepath.Join(bin, "perf"), []byte(perf), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Env = append(os.Environ(), "PATH="+bin)
	out, err := cmd.CombinedOutput()
	if text := string(out); err != nil || !strings.HasPrefix(text, "skipped: ") || !strings.Contains(text, " valgrind, but this is ") || !strings.HasSuffix(text, " perf\n") {
		t.Errorf("%v: %s", err, out)
	}
}
