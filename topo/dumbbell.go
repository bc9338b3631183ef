package topo

// DumbbellParams describes two switches and the links between them: switch0 with the first
// hosts and switch1 with the others. The groups left and right are their hosts.
type DumbbellParams struct {
	Left     int   `yaml:"left" doc:"hosts on switch0"`
	Right    int   `yaml:"right" doc:"hosts on switch1"`
	HostLink Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	Trunk    Cable `yaml:"trunk" doc:"links between the switches"`
	Trunks   int   `yaml:"trunks" doc:"number of links between the switches"`
}

func dumbbellDefaults() *DumbbellParams {
	return &DumbbellParams{Left: 4, Right: 4, HostLink: usual, Trunk: usual, Trunks: 1}
}

func newDumbbell(params any) (*Graph, error) {
	p := params.(*DumbbellParams)
	err := first(
		between("left", p.Left, 0, MaxPorts-1), between("right", p.Right, 0, MaxPorts-1), between("trunks", p.Trunks, 1, MaxPorts),
		p.HostLink.Check("host_link"), p.Trunk.Check("trunk"),
	)
	if err == nil {
		err = first(fits(p.Left+p.Right, 2, 2), ports("a switch", max(p.Left, p.Right)+p.Trunks))
	}
	if err != nil {
		return nil, err
	}
	b := NewLayout(p.Left + p.Right)
	s := b.Switches("switch", 2)
	b.Rack(0, 0, p.Left, s, p.HostLink)
	b.Rack(1, p.Left, p.Right, s+1, p.HostLink)
	for range p.Trunks {
		b.Join(s, s+1, p.Trunk)
	}
	b.Group("left", 0, p.Left)
	b.Group("right", p.Left, p.Right)
	return b.Done(), nil
}
