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
					return yaml.Atf(path, "%s is down already from %s to %s; allowed: times that do not overlap or touch", x.Link,
						yaml.Show(d.from), yaml.Show(d.to))
				}
			}
			down[link] = append(down[link], downTime{from, from + x.DownFor})
		}
	}
	return nil
}

// checkFault checks one fault: exactly one thing goes wrong.
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
		return yaml.Atf(path, "a fault is of a link or of a host; allowed: one of link, host")
	case x.Host != "":
		return f.checkHostFault(path, x)
	case f.Link(x.Link) < 0:
		_, err := f.Graph.LinkNamed(x.Link)
		return yaml.At(path+".link", err)
	case x.Stuck:
		return yaml.Atf(path+".stuck", "a link cannot be stuck; allowed: for a host")
	case x.DownFor == 0 && x.Corrupt == 0:
		return yaml.Atf(path, "nothing happens to %s; allowed: down_for or corrupt", x.Link)
	case x.DownFor != 0 && x.Corrupt != 0:
		return yaml.Atf(path, "%s cannot be down and corrupt in one fault; allowed: two faults", x.Link)
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
		return yaml.Atf(path, "nothing happens to %s; allowed: stuck: true", x.Host)
	case x.DownFor != 0 || x.Times != 0 || x.Every != 0 || x.Corrupt != 0:
		return yaml.Atf(path, "a host can only be stuck; allowed: at, host, stuck, for")
	case x.For == 0:
		return yaml.Atf(path, "it is not said how long %s is stuck; allowed: for, more than 0s, or forever", x.Host)
	}
	return nil
}

func (f fabric) checkCorrupt(path string, x *scenario.Fault) error {
	switch {
	case !(x.Corrupt > 0 && x.Corrupt <= 1):
		return yaml.Atf(path+".corrupt", "%v is no share of frames; allowed: more than 0, at most 1", x.Corrupt)
	case x.Times != 0 || x.Every != 0:
		return yaml.Atf(path, "only a link that goes down can flap; allowed: times and every with down_for")
	case x.For == 0 && f.Config.Written(path+".for"):
		return yaml.Atf(path+".for", "for no time nothing is damaged; allowed: more than 0s, or without: to the end")
	}
	return nil
}

func checkDown(path string, x *scenario.Fault) error {
	switch {
	case x.For != 0:
		return yaml.Atf(path+".for", "a link that goes down says how long with down_for; allowed: for with corrupt or stuck")
	case (x.Times > 1) != (x.Every > 0):
		return yaml.Atf(path, "flapping needs how often and how far apart; allowed: times, 2 or more, together with every")
	case x.Times > 1 && x.Every <= x.DownFor:
		return yaml.Atf(path+".every", "%s does not let the link come up between; allowed: more than down_for, %s", x.Every, x.DownFor)
	}
	return yaml.Within(path+".down_for", x.At+units.Time(max(1, x.Times)-1)*x.Every+x.DownFor, 0, units.MaxTime)
}
