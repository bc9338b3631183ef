package fabric

import (
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
)

// Parse, ParseSandboxed and ReadFile also validate the scenario.

func Parse(name string, data []byte, set ...string) (*scenario.Config, error) {
	return valid(scenario.Parse(name, data, set...))
}

func ParseSandboxed(name string, data []byte, beside []string) (*scenario.Config, error) {
	return valid(scenario.ParseSandboxed(name, data, beside))
}

func ReadFile(path string, set ...string) (*scenario.Config, error) {
	return valid(scenario.ReadFile(path, set...))
}

func Validate(c *scenario.Config) error {
	_, err := NewPlan(c)
	return err
}

func valid(c *scenario.Config, err error) (*scenario.Config, error) {
	if err == nil {
		err = Validate(c)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// lay lays out a scenario without validating it.
func lay(c *scenario.Config) (*layout.Layout, error) {
	g, err := layout.Graph(c)
	if err != nil {
		return nil, err
	}
	return layout.New(c, g)
}
