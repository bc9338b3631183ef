package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/topo"
)

// readTopology replaces the file that a custom topology names by what it says, so
// that a scenario stands alone from here on.
func (c *Config) readTopology() error {
	p, ok := c.Topology.Params.(*topo.CustomParams)
	if !ok || p.Path == "" {
		return nil
	}
	if err := c.apart.check(p.Path); err != nil {
		return c.Locate(yaml.At("topology.path", err))
	}
	plain := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	plain.Path = p.Path
	for i, key := range yaml.KeyNames(reflect.TypeOf(*p)) {
		if !reflect.DeepEqual(reflect.ValueOf(p).Elem().Field(i).Interface(), reflect.ValueOf(plain).Elem().Field(i).Interface()) {
			return c.Locate(yaml.Atf("topology."+key, "the topology is in %s; allowed: path, or the other keys", p.Path))
		}
	}
	name := filepath.FromSlash(p.Path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(c.places.Source().Name), name)
	}
	data, err := readSmall(name)
	if err != nil {
		return c.Locate(yaml.Atf("topology.path", "%w; allowed: a file with hosts, switches and links", err))
	}
	read, places, err := parseTopology(name, data)
	if err != nil {
		return err
	}
	c.places.Adopt(places)
	c.Topology.Params = read
	return nil
}

// readSmall reads a file that is one, and not too long.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if s, err := f.Stat(); err != nil {
		return nil, err
	} else if !s.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return yaml.ReadLimited(f)
}

// parseTopology reads a topology file: the keys of a custom topology. The places
// of keys are those that they would have in a scenario.
func parseTopology(name string, data []byte) (*topo.CustomParams, *yaml.Places, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "topology")
	if err != nil {
		return nil, nil, err
	}
	d := &yaml.Decoder{Places: yaml.NewPlaces(src), What: "scenario"}
	p := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	if err := d.Value(body, "topology", reflect.ValueOf(p).Elem()); err != nil {
		return nil, nil, err
	}
	if p.Path != "" {
		return nil, nil, d.Places.Errorf("topology.path", "a topology file cannot name another; allowed: hosts, switches, links")
	}
	return p, d.Places, nil
}
