package sim

// tree stores one key per port and keeps track of the smallest. It has a winner tree for
// every 32 ports: changing a key costs five branch-free comparisons, and the fixed size
// lets the compiler drop bounds checks.
type tree struct {
	least  uint64
	single bool // one port: least is its key
	groups [][2 * treePorts]uint64
}

// treePorts is the number of ports in a group; the loop in set is unrolled for it.
const treePorts = 32

// none is the key of a port without an event.
const none = ^uint64(0)

func newTree(n int) tree {
	t := tree{least: none, single: n == 1, groups: make([][2 * treePorts]uint64, (n+treePorts-1)/treePorts)}
	for i := range t.groups {
		for j := range t.groups[i] {
			t.groups[i][j] = none
		}
	}
	return t
}

func (t *tree) top() uint64 { return t.least }

func (t *tree) set(i int, key uint64) {
	if t.single {
		t.least = key
		return
	}
	g := &t.groups[uint(i)/treePorts]
	at := uint(treePorts) + uint(i)%treePorts
	g[at] = key
	key = min(key, g[at^1])
	at >>= 1
	g[at] = key
	key = min(key, g[at^1])
	at >>= 1
	g[at] = key
	key = min(key, g[at^1])
	at >>= 1
	g[at] = key
	key = min(key, g[at^1])
	at >>= 1
	g[at] = key
	key = min(key, g[at^1])
	g[1] = key
	if len(t.groups) > 1 {
		for j := range t.groups {
			key = min(key, t.groups[j][1])
		}
	}
	t.least = key
}
