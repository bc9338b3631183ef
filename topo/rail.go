package topo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// RailParams describes a rail-optimised fabric: NIC r of every server of a segment is on leaf
// r of that segment. Host number server*rails + r is NIC r of a server; leaf number
// segment*rails + r is rail r of a segment. Without cores, every leaf connects to every
// spine. Spines may form groups, which cores connect: a group serves one rail, or some
// segments of one rail. Ports of a leaf: hosts, then spines; of a spine: leaves, then cores.
type RailParams struct {
	Preset      string `yaml:"preset" doc:"named set of sizes and rates, such as superpod-1024; other keys override it"`
	Segments    int    `yaml:"segments" doc:"number of segments, each with a leaf for every rail"`
	Servers     int    `yaml:"servers" doc:"servers of each segment"`
	Rails       int    `yaml:"rails" doc:"NICs of a server, each on its own leaf"`
	Spines      int    `yaml:"spines" doc:"number of spine switches"`
	Cables      int    `yaml:"cables" doc:"cables between a leaf and each of its spines"`
	Cores       int    `yaml:"cores,omitempty" doc:"number of core switches; 0: none"`
	SpineGroups int    `yaml:"spine_groups" doc:"groups of spines: 1, or a multiple of rails, each for one rail and an equal share of the segments"`
	Planes      int    `yaml:"planes" doc:"planes of cores: spine i of a group connects to all cores of plane i modulo planes"`
	HostLink    Cable  `yaml:"host_link" doc:"links between hosts and their leaf"`
	FabricLink  Cable  `yaml:"fabric_link" doc:"links between switches"`
}

func railDefaults() *RailParams {
	p := railPresets["small"]
	return &p
}

// railLink returns the link of all presets: 500 ns is the latency of NICs in SimAI.
func railLink(rate units.Rate) Cable { return Cable{Rate: rate, Delay: 500 * units.Nanosecond} }

// superPOD returns a DGX SuperPOD: segments of 32 servers with 8 NICs, switches of 64 ports,
// so a leaf has 32 uplinks.
func superPOD(name string, rate units.Rate, segments, spines, cables, cores, groups, planes int) RailParams {
	return RailParams{Preset: name, Segments: segments, Servers: 32, Rails: 8, Spines: spines, Cables: cables, Cores: cores,
		SpineGroups: groups, Planes: planes, HostLink: railLink(rate), FabricLink: railLink(rate)}
}

// railPresets are sizes of reference architectures. The published tables have the numbers of
// switches; rail groups with cores between them are the wiring that uses all 64 ports.
var railPresets = map[string]RailParams{
	"small": {Preset: "small", Segments: 2, Servers: 4, Rails: 4, Spines: 4, Cables: 1, SpineGroups: 1, Planes: 1,
		HostLink: railLink(400 * units.Gbps), FabricLink: railLink(400 * units.Gbps)},
	// 4096 GPUs of the Spectrum-X template of SimAI: 64 access switches with 64 NICs each.
	"spectrum-x-4096": {Preset: "spectrum-x-4096", Segments: 8, Servers: 64, Rails: 8, Spines: 64, Cables: 1, SpineGroups: 1, Planes: 1,
		HostLink: railLink(400 * units.Gbps), FabricLink: railLink(400 * units.Gbps)},
	// DGX SuperPOD with B200 or H100, NDR.
	"superpod-512":   superPOD("superpod-512", 400*units.Gbps, 2, 8, 4, 0, 1, 1),
	"superpod-1024":  superPOD("superpod-1024", 400*units.Gbps, 4, 16, 2, 0, 1, 1),
	"superpod-2048":  superPOD("superpod-2048", 400*units.Gbps, 8, 32, 1, 0, 1, 1),
	"superpod-4096":  superPOD("superpod-4096", 400*units.Gbps, 16, 128, 2, 64, 8, 2),
	"superpod-8192":  superPOD("superpod-8192", 400*units.Gbps, 32, 256, 1, 128, 8, 4),
	"superpod-16384": superPOD("superpod-16384", 400*units.Gbps, 64, 512, 1, 256, 16, 8),
	// DGX SuperPOD with B300, Spectrum-X Ethernet.
	"b300-512":  superPOD("b300-512", 800*units.Gbps, 2, 8, 4, 0, 1, 1),
	"b300-1024": superPOD("b300-1024", 800*units.Gbps, 4, 16, 2, 0, 1, 1),
	"b300-2048": superPOD("b300-2048", 800*units.Gbps, 8, 32, 1, 0, 1, 1),
}

// ApplyPreset sets the parameters to a named set.
func (p *RailParams) ApplyPreset(name string) error {
	set, ok := railPresets[name]
	if !ok {
		return registry.Unknown("preset", name, RailPresets())
	}
	*p = set
	return nil
}

// RailPresets returns the names of the presets of topology rail.
func RailPresets() []string { return slices.Sorted(maps.Keys(railPresets)) }

func (p *RailParams) check() error {
	err := first(
		between("segments", p.Segments, 1, MaxPorts), between("servers", p.Servers, 1, MaxPorts), between("rails", p.Rails, 1, MaxPorts),
		between("spines", p.Spines, 1, MaxSwitches), between("cables", p.Cables, 1, MaxPorts), between("cores", p.Cores, 0, MaxSwitches),
		between("spine_groups", p.SpineGroups, 1, p.Spines), between("planes", p.Planes, 1, max(1, p.Cores)),
		p.HostLink.Check("host_link"), p.FabricLink.Check("fabric_link"),
	)
	if err != nil {
		return err
	}
	group := p.Spines / p.SpineGroups
	switch {
	case p.Spines%p.SpineGroups != 0:
		return fmt.Errorf("spine_groups is %d (expected a divisor of spines, %d)", p.SpineGroups, p.Spines)
	case p.SpineGroups > 1 && (p.SpineGroups%p.Rails != 0 || p.Segments%(p.SpineGroups/p.Rails) != 0):
		return fmt.Errorf("spine_groups is %d (expected 1, or rails, %d, times a divisor of segments, %d)", p.SpineGroups, p.Rails, p.Segments)
	case p.SpineGroups > 1 && p.Cores == 0:
		return fmt.Errorf("spine_groups is %d without cores to connect the groups (expected 1, or cores)", p.SpineGroups)
	case p.Cores > 0 && (p.Cores%p.Planes != 0 || group%p.Planes != 0):
		return fmt.Errorf("planes is %d (expected a divisor of cores, %d, and of the spines of a group, %d)", p.Planes, p.Cores, group)
	}
	below := p.Segments * p.Rails // leaves of a spine
	if p.SpineGroups > 1 {
		below /= p.SpineGroups
	}
	return first(
		fits(min(p.Segments*p.Servers, MaxHosts+1)*p.Rails, p.Segments*p.Rails+p.Spines+p.Cores, p.Segments*p.Rails),
		ports("a leaf", p.Servers+group*p.Cables), ports("a spine", below*p.Cables+p.Cores/p.Planes),
		ports("a core", p.Spines/p.Planes),
	)
}

// spineGroup returns the group of spines above a leaf.
func (p *RailParams) spineGroup(segment, rail int) int {
	if p.SpineGroups == 1 {
		return 0
	}
	perRail := p.SpineGroups / p.Rails
	return rail*perRail + segment/(p.Segments/perRail)
}

func newRail(params any) (*Graph, error) {
	p := params.(*RailParams)
	if err := p.check(); err != nil {
		return nil, err
	}
	leaves, group := p.Segments*p.Rails, p.Spines/p.SpineGroups
	b := NewLayout(p.Segments * p.Servers * p.Rails)
	leaf, spine := b.Switches("leaf", leaves), b.Switches("spine", p.Spines)
	core := b.Switches("core", p.Cores)
	for h := range b.g.Hosts {
		at := h/(p.Servers*p.Rails)*p.Rails + h%p.Rails
		b.g.Rack[h] = at
		b.Join(h, leaf+at, p.HostLink)
	}
	for l := range leaves {
		for s := range group {
			for range p.Cables {
				b.Join(leaf+l, spine+p.spineGroup(l/p.Rails, l%p.Rails)*group+s, p.FabricLink)
			}
		}
	}
	perPlane := p.Cores / p.Planes
	for s := range p.Spines {
		for c := range perPlane {
			b.Join(spine+s, core+s%group%p.Planes*perPlane+c, p.FabricLink)
		}
	}
	b.g.PerServer = p.Rails
	for s := range p.Segments {
		b.Group(fmt.Sprintf("segment%d", s), s*p.Servers*p.Rails, p.Servers*p.Rails)
	}
	for r := range p.Rails {
		rail := Group{Name: fmt.Sprintf("rail%d", r)}
		for h := r; h < b.g.Hosts; h += p.Rails {
			rail.Hosts = append(rail.Hosts, h)
		}
		b.g.Groups = append(b.g.Groups, rail)
	}
	return b.Done(), nil
}
