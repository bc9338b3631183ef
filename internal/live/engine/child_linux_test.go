package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWithFlags checks that flags are added before a terminating --.
func TestWithFlags(t *testing.T) {
	for args, want := range map[string]string{
		"live a.yaml":            "live a.yaml -o out",
		"live --quiet -- a.yaml": "live --quiet -o out -- a.yaml",
	} {
		if got := strings.Join(withFlags(strings.Fields(args), "-o", "out"), " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestChildUser checks that the child is never root.
func TestChildUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, c := range []struct {
		user, sudo string
		uid, gid   uint32 // 0: an error
	}{
		{"", "", nobody, nobody},
		{"", "0", nobody, nobody},
		{"", "1000", 1000, 100},
		{"7", "1000", 7, 7},
		{"7:8", "", 7, 8},
		{"0:0", "", 0, 0},
		{"7:0", "", 0, 0},
		{"me", "", 0, 0},
	} {
		t.Setenv("SUDO_UID", c.sudo)
		t.Setenv("SUDO_GID", "100")
		who, err := ChildUser(c.user)
		if (err != nil) != (c.uid == 0) || err == nil && (who.UID != c.uid || who.GID != c.gid) {
			t.Errorf("--user %q, SUDO_UID %q: %v, %v; want %d:%d", c.user, c.sudo, who, err, c.uid, c.gid)
		}
	}
}

// TestHandOver checks that only new, empty and result folders change their owner.
func TestHandOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	top, err := os.MkdirTemp("", "xoff-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(top) }()
	who := &User{nobody, nobody}
	for _, c := range []struct {
		name  string
		files []string
		mode  os.FileMode // of the folder; 0: it does not exist
		owner uint32
		fails bool
	}{
		{"new", nil, 0, nobody, false},
		{"empty", nil, 0o755, nobody, false},
		{"results", []string{"summary.json"}, 0o755, nobody, false},
		{"other", []string{"passwd"}, 0o755, 0, true},
		{"open to all", []string{"passwd"}, os.ModeSticky | 0o777, 0, false},
	} {
		folder := filepath.Join(top, c.name)
		if err := os.Chmod(top, 0o755); err != nil {
			t.Fatal(err)
		}
		if c.mode != 0 {
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(folder, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(folder, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := HandOver(folder, "summary.json", who); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		s, err := os.Stat(folder)
		if err != nil {
			t.Fatal(err)
		}
		if owner := s.Sys().(*syscall.Stat_t).Uid; owner != c.owner {
			t.Errorf("%s belongs to %d, want %d", c.name, owner, c.owner)
		}
		// The user nobody cannot enter a closed folder.
		if err := os.Chmod(top, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := HandOver(folder, "summary.json", who); err == nil {
			t.Errorf("%s cannot be reached, but HandOver succeeds", c.name)
		}
	}
}

// TestFabricSpace checks that the namespace of switches differs from the names of hosts.
func TestFabricSpace(t *testing.T) {
	for want, hosts := range map[string][]string{"fabric": {"host0"}, "fabrics": {"fabric", "a"}, "fabricss": {"fabrics", "fabric"}} {
		if got := fabricSpace(hosts); got != want {
			t.Errorf("%v: %s, want %s", hosts, got, want)
		}
	}
}
