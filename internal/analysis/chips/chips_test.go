package chips

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// The table reproduces numbers from tests of real switches: the cell at which PFC is sent
// when a single queue fills the pool.
func TestMeasuredPoints(t *testing.T) {
	for _, c := range []struct {
		chip                       string
		pool, headroom, min, ports int64 // bytes, bytes, cells per PG, ports with two lossless PGs
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
	if _, err := ModelledNamed("tomahawk9"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, c := range All() {
		for _, name := range []string{c.Name, c.Short} {
			if name != "" && seen[strings.ToLower(name)] {
				t.Errorf("%s is listed twice", name)
			}
			seen[strings.ToLower(name)] = true
		}
	}
}

// A made-up SKU matches no chip, even if its name resembles one.
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

// Every modelled chip has all the facts that checking a configuration needs.
func TestModelled(t *testing.T) {
	list := Modelled()
	if len(list) != 19 {
		t.Errorf("%d chips", len(list))
	}
	for _, c := range list {
		if c.Dialect.Trust == Unknown || !c.Partitions.Known() || !c.Packet.Known() || c.Partitions.N < 1 {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
}

// All commands know all names: a chip is usable, or the error says what is not public about it.
func TestOneTable(t *testing.T) {
	for _, c := range All() {
		for _, name := range []string{c.Name, c.Short} {
			if name == "" {
				continue
			}
			if _, err := ModelledNamed(name); (err == nil) != c.Cell.Known() || err != nil && !strings.Contains(err.Error(), c.Name+" cannot be used here: the size of its cells is not public (allowed: trident2, ") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := BudgetedNamed(name); (err == nil) != (c.Ports > 0) || err != nil && !strings.Contains(err.Error(), c.Name+" cannot be used here: its ports or its buffer are not public (allowed: 64x10G, ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.Ports > 0 && c.Memory.Known() && (c.Memory.Bytes() > c.Buffer*11/10 || c.Memory.Bytes() < c.Buffer*8/10) {
			t.Errorf("%s: memory of %d B, published as %s", c.Name, c.Memory.N, c.Buffer)
		}
	}
	for name, buffer := range map[string]units.Bytes{"th4": 113 * units.MiB, "th5": 165 * units.MiB, "spc4": 160 * units.MiB} {
		c, err := BudgetedNamed(name)
		if err != nil || c.Buffer != buffer {
			t.Errorf("%s: %s, %v", name, c.Buffer, err)
		}
		if _, err := ModelledNamed(name); err != nil {
			t.Error(err)
		}
	}
}

// Cells round up. A 64 B frame in a cell of 144 B costs three times its size; where it
// occupies 112 B, twice its size.
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

// Chips with a budget come first, by capacity, which is also the order of Fig. 4.
func TestOrder(t *testing.T) {
	last := units.Rate(0)
	over := false
	for _, c := range All() {
		capacity := c.Rate * units.Rate(c.Ports)
		if over = over || capacity == 0; over != (capacity == 0) || !over && capacity < last {
			t.Errorf("%s is out of order", c.Name)
		}
		last = capacity
	}
}
