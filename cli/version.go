package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// number is the last version in CHANGELOG.md. Builds between releases add a suffix to it.
const number = "v0.1.0"

// release is the version of a released binary, set by the linker.
var release string

const modulePath = "github.com/xoff-net/xoff"

// version describes the build: version, source revision, toolchain and platform.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // source revision, if known
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (a *app) version() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	name, revision := versionOf(release, info)
	return version{name, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

// versionOf returns the version and the source revision of a build. The version is the
// release, the module version of `go install`, or number with the revision. In other
// programs it is the version of the xoff module.
func versionOf(release string, info *debug.BuildInfo) (name, revision string) {
	module, dirty := info.Main.Version, ""
	if info.Main.Path != modulePath {
		module = ""
		for _, d := range info.Deps {
			if d.Path == modulePath && d.Replace == nil {
				module = d.Version
			}
		}
	} else {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = ".dirty"
			}
		}
	}
	tagged := module != "" && module != "(devel)" && !strings.HasPrefix(module, "v0.0.0-") && dirty == ""
	switch {
	case release != "":
		return release, revision
	case tagged:
		return module, revision
	case revision != "":
		return number + "+" + revision[:min(12, len(revision))] + dirty, revision
	case module != "" && module != "(devel)":
		return module, revision
	}
	return number + "+devel", revision
}

func (v version) line() string { return fmt.Sprintf("xoff %s %s %s/%s", v.Version, v.Go, v.OS, v.Arch) }

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := a.version()
			if a.json {
				return wrap(exitFailure, a.printJSON(v))
			}
			_, err := fmt.Fprintln(a.out, v.line())
			return wrap(exitFailure, err)
		},
	}
	a.jsonFlag(cmd)
	return cmd
}
