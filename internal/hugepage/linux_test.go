//go:build linux

package hugepage

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// What is allocated afterwards lies where large pages are wished for.
func TestHeapIsInLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no large pages")
	}
	Prefer()
	// What the heap has already is filled first, so more than that.
	var blocks [64][]byte
	wished := 0
	for i := range blocks {
		blocks[i] = make([]byte, 1<<20)
		if strings.Contains(flagsOf(t, uintptr(unsafe.Pointer(&blocks[i][0]))), " hg") {
			wished++
		}
	}
	runtime.KeepAlive(&blocks)
	t.Logf("%d of %d blocks", wished, len(blocks))
	if wished < len(blocks)*3/4 {
		t.Errorf("%d of %d blocks are in large pages", wished, len(blocks))
	}
}

// flagsOf are those of the mapping that an address is in.
func flagsOf(t *testing.T, address uintptr) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(data)) {
		from, to, head := strings.Cut(strings.Fields(line)[0], "-")
		if head {
			a, errA := strconv.ParseUint(from, 16, 64)
			b, errB := strconv.ParseUint(to, 16, 64)
			if errA == nil && errB == nil {
				inside = uint64(address) >= a && uint64(address) < b
			}
		}
		if inside && strings.HasPrefix(line, "VmFlags:") {
			return line
		}
	}
	t.Fatalf("no mapping has %x", address)
	return ""
}
