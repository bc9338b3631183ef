package scenario

import (
	"fmt"
	"strings"
)

// Choose returns a scheme of a plug point with its default parameters. The
// error lists what there is.
func Choose(kind, name string) (Choice, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name != kind {
			continue
		}
		for _, s := range k.Schemes {
			if s.Name != name {
				names = append(names, s.Name)
				continue
			}
			if s.Params == nil {
				return Choice{Name: name}, nil
			}
			return Choice{Name: name, Params: s.Params()}, nil
		}
	}
	return Choice{}, fmt.Errorf("unknown %s %q; allowed: %s", kind, name, strings.Join(names, ", "))
}
