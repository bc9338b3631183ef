package cli

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	const rev = "0123456789abcdef0123456789abcdef01234567"
	built := func(path, version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	other := built("example.com/mine", "v9.9.9", "vcs.revision", "f00")
	other.Deps = []*debug.Module{{Path: modulePath, Version: "v0.1.3"}}
	replaced := built("example.com/mine", "v9.9.9")
	replaced.Deps = []*debug.Module{{Path: modulePath, Version: "v0.1.3", Replace: &debug.Module{Path: "../xoff"}}}
	for _, c := range []struct {
		what, release string
		info          *debug.BuildInfo
		name, rev     string
	}{
		{"no build info", "", &debug.BuildInfo{}, number + "+devel", ""},
		{"go build without a repository", "", built(modulePath, "(devel)"), number + "+devel", ""},
		{"go build in a repository", "", built(modulePath, "(devel)", "vcs.revision", rev, "vcs.modified", "false"), number + "+0123456789ab", rev},
		{"without a tag", "", built(modulePath, "v0.0.0-20260102030405-0123456789ab", "vcs.revision", rev), number + "+0123456789ab", rev},
		{"uncommitted changes", "", built(modulePath, "v0.2.0+dirty", "vcs.revision", rev, "vcs.modified", "true"), number + "+0123456789ab.dirty", rev},
		{"at a tag", "", built(modulePath, "v0.2.0", "vcs.revision", rev), "v0.2.0", rev},
		{"go install @v0.2.0", "", built(modulePath, "v0.2.0"), "v0.2.0", ""},
		{"go install @main", "", built(modulePath, "v0.0.0-20260102030405-0123456789ab"), "v0.0.0-20260102030405-0123456789ab", ""},
		{"a release", "v0.3.0", built(modulePath, "(devel)", "vcs.revision", rev), "v0.3.0", rev},
		{"another program", "", other, "v0.1.3", ""},
		{"another program with a replaced module", "", replaced, number + "+devel", ""},
	} {
		if name, rev := versionOf(c.release, c.info); name != c.name || rev != c.rev {
			t.Errorf("%s: got %s %s, want %s %s", c.what, name, rev, c.name, c.rev)
		}
	}
}

func TestVersionIsInTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n## "+number+"\n") {
		t.Errorf("CHANGELOG.md does not have %s", number)
	}
}
