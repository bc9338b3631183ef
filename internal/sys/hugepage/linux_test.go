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

// Memory that went back to the system and came again is in large pages only after Gather.
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
		t.Skip("this kernel makes no large pages of small ones: ", err)
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
	before := inLargePages(t)
	Gather()
	after := inLargePages(t)
	t.Logf("%d KiB in large pages before, %d after", before, after)
	if after < before+16<<10 || after < 48<<10 {
		t.Errorf("%d KiB in large pages before, %d after, of at least %d", before, after, len(blocks)<<10)
	}
	for i, b := range blocks {
		if b[0] != byte(i) || b[len(b)-1] != byte(i) {
			t.Fatalf("block %d has changed", i)
		}
	}
}

// inLargePages is how many KiB of the process are.
func inLargePages(t *testing.T) int {
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

// The wish takes no memory, though the heap has used a part of that memory before.
func TestPreferTouchesNothing(t *testing.T) {
	before := wished.Load()
	defer wished.Store(before)
	used := make([]byte, 20<<20)
	for i := 0; i < len(used); i += 4096 {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC()
	peak := peakKiB(t)
	prefer()
	if n := peakKiB(t) - peak; n > size>>10/4 {
		t.Errorf("it took %d KiB", n)
	}
}

// peakKiB returns the most memory that the process has had.
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
