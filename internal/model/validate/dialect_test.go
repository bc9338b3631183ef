package validate

import (
	"testing"

	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

type foreign struct{ flowctl.Scheme }

func (foreign) Properties() flowctl.Properties { return flowctl.Properties{Dialect: "credits"} }

func TestDialects(t *testing.T) {
	var pfc, none flowctl.Scheme
	for name, to := range map[string]*flowctl.Scheme{"pfc": &pfc, "none": &none} {
		choice, err := scenario.Choose("flow_control", name)
		if err == nil {
			*to, err = layout.FlowScheme(choice)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := sameDialect("a", pfc, "b", none); err != nil {
		t.Errorf("ports with and without flow control: %v", err)
	}
	err := sameDialect("dci0.port4", foreign{}, "dci1.port4", pfc)
	if want := "switch.flow_control: dci0.port4 uses credits, but its peer dci1.port4 uses PFC (expected the same at both ends)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
