package prefetch

import "testing"

// Invalid addresses cause no fault, and no memory changes.
func TestBothTakesAnything(t *testing.T) {
	page := make([]byte, 4096)
	for i := range page {
		page[i] = byte(i)
	}
	Both((*int)(nil), &page[0])
	Both(&page[len(page)-1], (*[64]byte)(nil))
	for i, b := range page {
		if b != byte(i) {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}
