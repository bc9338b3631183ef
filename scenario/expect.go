package scenario

import (
	"reflect"

	goccy "github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/internal/yaml"
)

// Expectation is a condition on the metrics of a run. It does not change results.
type Expectation struct {
	That  string `yaml:"that" doc:"condition: a metric, a comparison and a value, such as slowdown.p99 < 5"`
	Abort bool   `yaml:"abort,omitempty" doc:"end the run when the condition fails; only upper bounds on pauses, drops, retransmissions, frames, buffer peaks"`
}

// expectForm decodes an Expectation: `drops.lossless == 0` or
// `{that: drops.lossless == 0, abort: true}`.
type expectForm struct{ *Expectation }

// Decode implements yaml.Form.
func (e expectForm) Decode(d *yaml.Decoder, n *yaml.Node, path string) error {
	*e.Expectation = Expectation{}
	if n.Shape == yaml.Scalar && n.Text != "" {
		e.That = n.Text
		return nil
	}
	if n.Shape != yaml.Mapping {
		return d.Mismatch(n, path, "a condition such as `slowdown.p99 < 5`, or {that: drops.lossless == 0, abort: true}")
	}
	entries, err := d.Entries(n, path)
	if err != nil {
		return err
	}
	for _, x := range entries {
		at := yaml.Join(path, x.Key)
		d.Note(at, x)
		switch x.Key {
		case "that":
			err = d.Value(x.Value, at, reflect.ValueOf(&e.That).Elem())
		case "abort":
			err = d.Value(x.Value, at, reflect.ValueOf(&e.Abort).Elem())
		default:
			err = d.Fail(x.At, at, "unknown key %q (allowed: that, abort)", x.Key)
		}
		if err != nil {
			return err
		}
	}
	if e.That == "" {
		return d.Fail(n.At, path, "that is missing (expected a condition such as slowdown.p99 < 5)")
	}
	return nil
}

func (e Expectation) plain() any {
	if e.Abort {
		return goccy.MapSlice{{Key: "that", Value: e.That}, {Key: "abort", Value: true}}
	}
	return e.That
}
