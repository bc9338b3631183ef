package registry

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"name", "leaves", "spines", "hosts_per_leaf", "dt"}
	for word, want := range map[string]string{
		"anme": "name", "nme": "name", "leafs": "leaves", "spine": "spines", "hosts_per_leaves": "hosts_per_leaf",
		"rate": "", "dtt": "dt", "x": "", "": "", "colour": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	if got := Unknown("cc", "dcqn", []string{"dcqcn", "none"}).Error(); got != `unknown cc "dcqn"; did you mean "dcqcn"? (allowed: dcqcn, none)` {
		t.Error(got)
	}
}
