//go:build linux

package hugepage

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// Memory allocated after Prefer has the huge page advice.
func TestHeapIsInLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	Prefer()
	// The heap fills its free memory first, so allocate more than that.
	var blocks [64][]byte
	advised := 0
	for i := range blocks {
		blocks[i] = make([]byte, 1<<20)
		if strings.Contains(flagsOf(t, uintptr(unsafe.Pointer(&blocks[i][0]))), " hg") {
			advised++
		}
	}
	runtime.KeepAlive(&blocks)
	t.Logf("%d of %d blocks", advised, len(blocks))
	if advised < len(blocks)*3/4 {
		t.Errorf("%d of %d blocks have the huge page advice (expected 3/4 or more)", advised, len(blocks))
	}
}

// Memory that was returned to the system and allocated again uses huge pages after Gather.
func TestGather(t *testing.T) {
	probe, err := syscall.Mmap(-1, 0, 4<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(probe); i += 4096 {
		probe[i] = 1
	}
	err = syscall.Madvise(probe, collapse)
	if syscall.Munmap(probe) != nil || err != nil {
		t.Skip("this kernel cannot collapse pages: ", err)
	}
	Prefer()
	var blocks [64][]byte
	fill := func() {
		for i := range blocks {
			if blocks[i] == nil {
				blocks[i] = bytes.Repeat([]byte{byte(i)}, 1<<20)
			}
		}
	}
	fill()
	for i := 0; i < len(blocks); i += 2 {
		blocks[i] = nil
	}
	debug.FreeOSMemory()
	fill()
	before := inHugePages(t)
	Gather()
	after := inHugePages(t)
	t.Logf("%d KiB in huge pages before, %d after", before, after)
	if after < before+16<<10 || after < 48<<10 {
		t.Errorf("%d KiB in huge pages before, %d after, of at least %d", before, after, len(blocks)<<10)
	}
	for i, b := range blocks {
		if b[0] != byte(i) || b[len(b)-1] != byte(i) {
			t.Fatalf("block %d has changed", i)
		}
	}
}

// inHugePages returns the KiB of the process that are in huge pages.
func inHugePages(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "AnonHugePages:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatal("no AnonHugePages in smaps_rollup")
	return 0
}

// flagsOf returns the VmFlags of the mapping that contains address.
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
	t.Fatalf("no mapping contains %x", address)
	return ""
}

// prefer touches no memory, even if the heap has used a part of it before.
func TestPreferTouchesNothing(t *testing.T) {
	before := advised.Load()
	defer advised.Store(before)
	used := make([]byte, 20<<20)
	for i := 0; i < len(used); i += 4096 {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC()
	peak := peakKiB(t)
	prefer()
	if n := peakKiB(t) - peak; n > size>>10/4 {
		t.Errorf("prefer took %d KiB", n)
	}
}

// peakKiB returns the peak resident size of the process.
func peakKiB(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
