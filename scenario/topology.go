package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/topo"
)

// readTopology replaces the path of a custom topology by the contents of that file, which has
// its keys or the format of htsim.
func (c *Config) readTopology() error {
	p, ok := c.Topology.Params.(*topo.CustomParams)
	if !ok || p.Path == "" {
		return nil
	}
	if err := c.sandbox.check(p.Path); err != nil {
		return c.Locate(yaml.At("topology.path", err))
	}
	plain := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	plain.Path = p.Path
	for i, key := range yaml.KeyNames(reflect.TypeOf(*p)) {
		if !reflect.DeepEqual(reflect.ValueOf(p).Elem().Field(i).Interface(), reflect.ValueOf(plain).Elem().Field(i).Interface()) {
			return c.Locate(yaml.Atf("topology."+key, "path is %s, so this key cannot be set (expected either path or the other keys)", p.Path))
		}
	}
	name := filepath.FromSlash(p.Path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(c.locations.Source().Name), name)
	}
	data, err := readSmall(name)
	if err != nil {
		return c.Locate(yaml.Atf("topology.path", "%w (expected a file with hosts, switches and links)", err))
	}
	if isHTSim(name) {
		c.Topology.Params, err = c.readHTSim(name, data)
		return err
	}
	read, locations, err := parseTopology(name, data)
	if err != nil {
		return err
	}
	c.locations.Adopt(locations)
	c.Topology.Params = read
	return nil
}

// readSmall reads a regular file of limited size.
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

// parseTopology parses a topology file: the keys of a custom topology. Paths in the returned
// locations start with topology, as in a scenario.
func parseTopology(name string, data []byte) (*topo.CustomParams, *yaml.Locations, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "topology")
	if err != nil {
		return nil, nil, err
	}
	d := &yaml.Decoder{Locations: yaml.NewLocations(src), What: "scenario"}
	p := paramsOf(topo.Topologies, "custom").(*topo.CustomParams)
	if err := d.Value(body, "topology", reflect.ValueOf(p).Elem()); err != nil {
		return nil, nil, err
	}
	if p.Path != "" {
		return nil, nil, d.Locations.Errorf("topology.path", "a topology file cannot refer to another (allowed: hosts, switches, links)")
	}
	return p, d.Locations, nil
}
