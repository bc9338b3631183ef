package chips

import "github.com/xoff-net/xoff/base/units"

// table lists chips with a budget first, by capacity, then the others by family.
//
// Buffer sizes are the published figures read as MiB, as in the worked example of DSH
// section III-A. The paper does not list the points of Fig. 4; the first and the last
// follow from the numbers in its text (157 us and 43 %, 37 us and 67 %).
//
// Cells, dialects, partitions and the 70 cells per port reproduce the points at which the
// tests of sonic-mgmt observe PFC and drops. Its headroom pool tests independently confirm
// the partitions. Formula constants come from the scripts in sonic-swss. Memory of tomahawk4 and
// tomahawk5 is in the sources of FBOSS; the memory of spectrum chips is the egress lossless pool of
// shipped files.
var table = []Chip{
	{
		Name: "64x10G", Family: Other, Ports: 64, Rate: 10 * units.Gbps, Buffer: 12 * units.MiB, Fig4: true,
		Note: "first point of DSH Fig. 4, which does not name it",
	},
	{
		Name: "trident2", Short: "td2", Family: XGS, Ports: 32, Rate: 40 * units.Gbps, Buffer: 12 * units.MiB, Fig4: true,
		Note: "worked example of DSH section III-A",
		Cell: Fact{208, Measured}, Packet: Fact{208, Measured}, Dialect: total(Measured), Partitions: Fact{1, Measured},
		Memory: Fact{61440 * 208, Published}, PortCells: Fact{0, Measured},
		SKUs: []string{"Force10-S6000"},
	},
	{
		Name: "tomahawk", Short: "th", Family: XGS, Ports: 32, Rate: 100 * units.Gbps, Buffer: 16 * units.MiB, Fig4: true,
		Note: "switch of the evaluation in the DSH paper",
		Cell: Fact{208, Measured}, Packet: Fact{208, Measured}, Dialect: shared(Measured), Partitions: Fact{4, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"Arista-7060CX-32S", "Celestica-DX010", "Force10-S6100"},
	},
	{
		Name: "trident3", Short: "td3", Family: XGS, Ports: 32, Rate: 100 * units.Gbps, Buffer: 32 * units.MiB,
		Cell: Fact{256, Measured}, Packet: Fact{256, Measured}, Dialect: total(Measured), Partitions: Fact{1, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"Arista-7050CX3-32S"},
	},
	{
		Name: "tomahawk2", Short: "th2", Family: XGS, Ports: 64, Rate: 100 * units.Gbps, Buffer: 42 * units.MiB, Fig4: true,
		Cell: Fact{208, Measured}, Packet: Fact{208, Measured}, Dialect: shared(Measured), Partitions: Fact{4, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"Arista-7260CX3"},
	},
	{
		Name: "tomahawk3", Short: "th3", Family: XGS, Ports: 32, Rate: 400 * units.Gbps, Buffer: 64 * units.MiB, Fig4: true,
		Cell: Fact{254, Measured}, Packet: Fact{254, Measured}, Dialect: total(Measured), Partitions: Fact{2, Measured},
		PortCells: Fact{70, Measured},
		SKUs:      []string{"DellEMC-Z9332f"},
	},
	{Name: "trident4", Short: "td4", Family: XGS, Ports: 32, Rate: 400 * units.Gbps, Buffer: 132 * units.MiB},
	{
		Name: "tomahawk4", Short: "th4", Family: XGS, Ports: 64, Rate: 400 * units.Gbps, Buffer: 113 * units.MiB, Fig4: true,
		Note: "last point of DSH Fig. 4; dialect, partitions and cells per port as on tomahawk3 and tomahawk5",
		Cell: Fact{254, Published}, Packet: Fact{254, Published}, Dialect: total(Assumed), Partitions: Fact{2, Assumed},
		Memory: Fact{2 * 234606 * 254, Published}, PortCells: Fact{70, Assumed},
	},
	{
		Name: "tomahawk5", Short: "th5", Family: XGS, Ports: 64, Rate: 800 * units.Gbps, Buffer: 165 * units.MiB,
		Cell: Fact{254, Measured}, Packet: Fact{254, Measured}, Dialect: total(Measured), Partitions: Fact{2, Measured},
		Memory: Fact{2 * 341080 * 254, Published}, PortCells: Fact{70, Measured},
		SKUs: []string{"Arista-7060X6-64PE", "Arista-7060X6-16PE"},
	},
	sized(spectrum("spectrum4", "spc4", 192, Fact{158229504, Shipped}, spectrumFormula(19, 8192, 15, 0), "x86_64-nvidia_sn5600", "x86_64-nvidia_sn5400"),
		64, 800*units.Gbps, 160*units.MiB),
	{
		Name: "tomahawk6", Short: "th6", Family: XGS, Note: "the pool cells used by its 256 ports are unknown",
		Cell: Fact{420, Measured}, Packet: Fact{420, Measured}, Dialect: total(Shipped), Partitions: Fact{1, Assumed},
		Memory: Fact{636183 * 420, Published},
		SKUs:   []string{"NH-4210", "Nokia-IXR7220-H6"},
	},
	{
		Name: "jericho2", Short: "jr2", Family: DNX,
		Cell: Fact{4096, Published}, Packet: Fact{112, Measured}, Dialect: total(Measured), Partitions: Fact{2, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"Arista-7800R3-48CQ"},
	},
	{
		Name: "jericho2c+", Short: "j2c+", Family: DNX,
		Cell: Fact{4096, Published}, Packet: Fact{112, Measured}, Dialect: total(Measured), Partitions: Fact{2, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"Nokia-IXR7250E-36x", "Arista-7800R3A-36D"},
	},
	{
		Name: "qumran3d", Short: "q3d", Family: DNX,
		Cell: Fact{4096, Published}, Packet: Fact{112, Measured}, Dialect: total(Measured), Partitions: Fact{8, Measured},
		PortCells: Fact{0, Measured},
		SKUs:      []string{"NH-5010"},
	},
	spectrum("spectrum", "spc1", 96, Fact{13945824, Shipped}, spectrumFormula(19, 8192, 0, 0), "x86_64-mlnx_msn2"),
	spectrum("spectrum2", "spc2", 144, Fact{34287552, Shipped}, spectrumFormula(19, 8192, 0, 0), "x86_64-mlnx_msn3"),
	spectrum("spectrum3", "spc3", 144, Fact{60817392, Shipped}, spectrumFormula(19, 8192, 0, 0), "x86_64-mlnx_msn4", "x86_64-nvidia_sn4"),
	spectrum("spectrum5", "spc5", 192, Fact{}, spectrumFormula(19, 6144, 15, 0), "x86_64-nvidia_sn5640"),
	spectrum("spectrum6", "spc6", 256, Fact{}, spectrumFormula(42, 6144, 0, 18432)),
	{
		Name: "tofino2", Family: Tofino,
		Cell: Fact{176, Shipped}, Packet: Fact{176, Assumed}, Dialect: total(Assumed), Partitions: Fact{1, Assumed},
		Formula: &Formula{Pipeline: 68, MAC: 0.8, Peer: 9},
	},
	{
		Name: "generic", Family: Other, Note: "counts bytes; pool size as defined in the SAI header",
		Cell: Fact{1, Assumed}, Packet: Fact{64, Assumed}, Dialect: total(Assumed), Partitions: Fact{1, Assumed}, PortCells: Fact{0, Assumed},
	},
}

func total(t Trust) Dialect { return Dialect{true, t} }

func shared(t Trust) Dialect { return Dialect{false, t} }

// spectrum returns a chip of the Spectrum family: pools get the remaining memory, and a PG
// may use the headroom of its whole port. Its cell was measured on Spectrum-3 only.
func spectrum(name, short string, cell int64, memory Fact, f *Formula, platforms ...string) Chip {
	known := Shipped
	if short == "spc3" {
		known = Measured
	}
	return Chip{
		Name: name, Short: short, Family: Spectrum,
		Cell: Fact{cell, known}, Packet: Fact{cell, known}, Dialect: shared(Shipped), Partitions: Fact{1, Assumed},
		Memory: memory, PortHeadroom: true, Formula: f, Platforms: platforms,
	}
}

// sized adds the ports and the published buffer to a chip.
func sized(c Chip, ports int, rate units.Rate, buffer units.Bytes) Chip {
	c.Ports, c.Rate, c.Buffer = ports, rate, buffer
	return c
}

func spectrumFormula(pipeline float64, portPool int64, tile, extra units.Bytes) *Formula {
	return &Formula{
		Pipeline: pipeline, MAC: 0.8, Peer: 3.8,
		PortPool: portPool, ReservedPool: 20, Tile: tile, Extra: extra,
	}
}
