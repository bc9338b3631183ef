package chips

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// Points that tests of real switches state, from the numbers of the table: the
// cell in which PFC is sent when one queue alone fills the pool.
func TestMeasuredPoints(t *testing.T) {
	for _, c := range []struct {
		chip                       string
		pool, headroom, min, ports int64 // bytes, bytes, cells of a PG, ports with two lossless PGs
		inverse                    int64 // 1 + 1/alpha
		want                       int64
	}{
		{"th", 10875072, 4194112, 6, 0, 2, 6541},          // 10,875,072 / 208 / 4 / 2 + 6
		{"td3", 32732160, 1622016, 18, 32, 2, 60204},      // (127,860 - 6336 - 1152) / 2 + 18
		{"th3", 66394076, 27200352, 10, 32, 5, 15152},     // (261,394 - 107,088 - 32 x 90) / 2 / 5 + 10
		{"th5", 164733224, 17962880, 34, 64, 2, 142285},   // (648,556 - 70,720 - 64 x 138) / 2 / 2 + 34
		{"jr2", 6441610000, 1056256819, 0, 0, 65, 369873}, // (6,441,610,000 - 1,056,256,819) / 112 / 2 / 65
		{"q3d", 25766440000, 4024103375, 0, 0, 65, 373323},
	} {
		chip, err := ModelledNamed(c.chip)
		if err != nil {
			t.Fatal(err)
		}
		unit := min(chip.Cell.N, chip.Packet.N)
		shared := c.pool / unit
		if chip.Dialect.Total {
			shared = (c.pool-c.headroom)/unit - c.ports*(2*c.min+chip.PortCells.N)
		}
		if got := shared/chip.Partitions.N/c.inverse + c.min; got != c.want {
			t.Errorf("%s: PFC at %d, want %d", c.chip, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"TD2", "tomahawk3", "J2C+", "Spectrum", "SPC6", "tofino2", "generic"} {
		if c, err := ModelledNamed(name); err != nil || !strings.EqualFold(name, c.Name) && !strings.EqualFold(name, c.Short) {
			t.Errorf("%s: %q, %v", name, c.Name, err)
		}
	}
	if _, err := ModelledNamed("tomahawk4"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a chip of unknown cells: %v", err)
	}
	if _, err := Named("tomahawk4"); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, c := range All() {
		for _, name := range []string{c.Name, c.Short} {
			if name != "" && seen[strings.ToLower(name)] {
				t.Errorf("%s is there twice", name)
			}
			seen[strings.ToLower(name)] = true
		}
	}
}

// A made-up SKU is not guessed, whatever it sounds like.
func TestOf(t *testing.T) {
	for _, c := range []struct{ sku, platform, want string }{
		{"Force10-S6000-Q24S32", "", "trident2"},
		{"Force10-S6100", "", "tomahawk"},
		{"Arista-7800R3-48CQ2-C48", "", "jericho2"},
		{"Arista-7800R3A-36DM2-D36", "", "jericho2c+"},
		{"ACS-MSN4600C", "x86_64-mlnx_msn4600c-r0", "spectrum3"},
		{"ACS-SN5600", "x86_64-nvidia_sn5600-r0", "spectrum4"},
		{"Mellanox-SN5640", "x86_64-nvidia_sn5640-r0", "spectrum5"},
		{"Example-TD3-C8", "x86_64-example_td3_8x100-r0", ""},
		{"", "", ""},
	} {
		chip, ok := Of(c.sku, c.platform)
		if chip.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s on %s: %q", c.sku, c.platform, chip.Name)
		}
	}
}

// What is needed to judge a configuration is known of all chips that are offered.
func TestModelled(t *testing.T) {
	list := Modelled()
	if len(list) != 18 {
		t.Errorf("%d chips", len(list))
	}
	for _, c := range list {
		if c.Dialect.Trust == Unknown || !c.Partitions.Known() || !c.Packet.Known() || c.Partitions.N < 1 {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
}

// Cells round up; a frame of 64 B in a cell of 144 B costs three times its size,
// and twice where it costs 112 B.
func TestCells(t *testing.T) {
	spc3, _ := Named("spc3")
	if spc3.Cells(144) != 1 || spc3.Cells(145) != 2 || spc3.Waste() != 3 {
		t.Errorf("%d, %d cells, waste %d", spc3.Cells(144), spc3.Cells(145), spc3.Waste())
	}
	q3d, _ := Named("q3d")
	if q3d.Waste() != 2 {
		t.Errorf("waste %d", q3d.Waste())
	}
}

// The list begins with budgets, by capacity, so that the points of Fig. 4 come in
// its order.
func TestOrder(t *testing.T) {
	last := units.Rate(0)
	over := false
	for _, c := range All() {
		capacity := c.Rate * units.Rate(c.Ports)
		if over = over || capacity == 0; over != (capacity == 0) || !over && capacity < last {
			t.Errorf("%s is out of place", c.Name)
		}
		last = capacity
	}
}
