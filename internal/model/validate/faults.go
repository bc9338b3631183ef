package validate

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
)

func (f fabric) checkFaults() error {
	type downTime struct {
		from, to units.Time
	}
	down := make(map[int][]downTime) // by link
	for i := range f.Config.Faults {
		x := &f.Config.Faults[i]
		path := fmt.Sprintf("faults[%d]", i)
		if err := f.checkFault(path, x); err != nil {
			return err
		}
		if x.DownFor == 0 {
			continue
		}
		link := f.Link(x.Link)
		for k := range max(1, x.Times) {
			from := x.At + units.Time(k)*x.Every
			for _, d := range down[link] {
				if from <= d.to && d.from <= from+x.DownFor {
					return yaml.Atf(path, "%s is already down from %s to %s (expected times that do not overlap or touch)", x.Link,
						yaml.Show(d.from), yaml.Show(d.to))
				}
			}
			down[link] = append(down[link], downTime{from, from + x.DownFor})
		}
	}
	return nil
}

// checkFault checks one fault, which must have exactly one effect.
func (f fabric) checkFault(path string, x *scenario.Fault) error {
	err := yaml.First(
		yaml.Span(path+".at", x.At), yaml.Span(path+".down_for", x.DownFor), yaml.Span(path+".every", x.Every),
		yaml.Span(path+".for", x.For),
		yaml.Within(path+".times", x.Times, 0, maxFlaps),
	)
	switch {
	case err != nil:
		return err
	case (x.Link == "") == (x.Host == ""):
		return yaml.Atf(path, "link and host are both missing or both set (expected exactly one of them)")
	case x.Host != "":
		return f.checkHostFault(path, x)
	case f.Link(x.Link) < 0:
		_, err := f.Graph.LinkNamed(x.Link)
		return yaml.At(path+".link", err)
	case x.Stuck:
		return yaml.Atf(path+".stuck", "a link cannot be stuck (expected a host)")
	case x.DownFor == 0 && x.Corrupt == 0:
		return yaml.Atf(path, "the fault has no effect on %s (expected down_for or corrupt)", x.Link)
	case x.DownFor != 0 && x.Corrupt != 0:
		return yaml.Atf(path, "down_for and corrupt are both set for %s; fix: use two faults", x.Link)
	case x.Corrupt != 0:
		return f.checkCorrupt(path, x)
	default:
		return checkDown(path, x)
	}
}

func (f fabric) checkHostFault(path string, x *scenario.Fault) error {
	switch {
	case f.Host(x.Host) < 0:
		return f.noHost(path+".host", x.Host)
	case !x.Stuck:
		return yaml.Atf(path, "the fault has no effect on %s (expected stuck: true)", x.Host)
	case x.DownFor != 0 || x.Times != 0 || x.Every != 0 || x.Corrupt != 0:
		return yaml.Atf(path, "a host can only be stuck (allowed: at, host, stuck, for)")
	case x.For == 0:
		return yaml.Atf(path, "the stuck host %s has no duration (expected for: a time above 0s, or forever)", x.Host)
	}
	return nil
}

func (f fabric) checkCorrupt(path string, x *scenario.Fault) error {
	switch {
	case !(x.Corrupt > 0 && x.Corrupt <= 1):
		return yaml.Atf(path+".corrupt", "%v is not a share of frames (expected more than 0, at most 1)", x.Corrupt)
	case x.Times != 0 || x.Every != 0:
		return yaml.Atf(path, "times or every is set without down_for (expected both only with down_for)")
	case x.For == 0 && f.Config.Written(path+".for"):
		return yaml.Atf(path+".for", "duration is 0s (expected more than 0s; without for, the fault lasts until the end of the run)")
	}
	return nil
}

func checkDown(path string, x *scenario.Fault) error {
	switch {
	case x.For != 0:
		return yaml.Atf(path+".for", "for cannot be combined with down_for (expected corrupt or stuck)")
	case (x.Times > 1) != (x.Every > 0):
		return yaml.Atf(path, "only one of times and every is set (expected both, with times of 2 or more)")
	case x.Times > 1 && x.Every <= x.DownFor:
		return yaml.Atf(path+".every", "%s does not leave the link up between failures (expected more than down_for, %s)", x.Every, x.DownFor)
	}
	return yaml.Within(path+".down_for", x.At+units.Time(max(1, x.Times)-1)*x.Every+x.DownFor, 0, units.MaxTime)
}
