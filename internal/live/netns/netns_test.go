package netns

import (
	"slices"
	"testing"
)

func TestInterfaceNames(t *testing.T) {
	for _, c := range []struct {
		ends []Cable
		want []string
	}{
		{[]Cable{{"leaf0", "host1", 4, 1}, {"leaf0", "spine0", 4, 2}}, []string{"leaf0-host1", "leaf0-spine0"}},
		// Up to 15 characters: the second has 16.
		{[]Cable{{"leaf0", "spine0123", 4, 1}, {"leaf0", "spine01234", 4, 2}}, []string{"leaf0-spine0123", "node4-2"}},
		// Two cables between the same nodes.
		{[]Cable{{"s1", "s2", 3, 2}, {"s1", "s2", 3, 3}, {"s1", "h", 3, 0}}, []string{"node3-2", "node3-3", "node3-0"}},
	} {
		if got := InterfaceNames(c.ends); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.ends, got, c.want)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{"xoff": true, "a": true, "abcdefghijklmnop": true, "abcdefghijklmnopq": false, "": false, "../x": false, "a-b": false, "0a": false} {
		if err := CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
