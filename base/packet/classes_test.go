package packet

import (
	"slices"
	"testing"
)

func TestClassMask(t *testing.T) {
	for m := range 256 {
		mask, built := ClassMask(m), ClassMask(0)
		var want []uint8
		for c := range uint8(8) {
			if has := m>>c&1 != 0; mask.Has(c) != has {
				t.Errorf("%#b.Has(%d) = %t", mask, c, !has)
			} else if has {
				want, built = append(want, c), built.With(c)
			}
			if mask.Without(c).Has(c) || !mask.With(c).Has(c) || mask.Without(c)|mask != mask {
				t.Errorf("%#b: class %d added or removed is wrong", mask, c)
			}
		}
		if got := slices.Collect(mask.All()); !slices.Equal(got, want) || mask.Count() != len(want) || built != mask {
			t.Errorf("%#b: classes %v, count %d, rebuilt %#b; want %v", mask, got, mask.Count(), built, want)
		}
		if low := append(want, 8)[0]; mask.Lowest() != low {
			t.Errorf("%#b.Lowest() = %d, want %d", mask, mask.Lowest(), low)
		}
	}
}
