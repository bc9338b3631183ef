package sim

// tree is a winner tree: the smallest of a fixed set of keys is always at hand,
// and changing one costs a few comparisons without branches.
type tree struct {
	keys []uint64 // keys[1] is the smallest; leaf i is at leaves+i
}

// none is the key of a leaf without an event.
const none = ^uint64(0)

func newTree(n int) tree {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t := tree{keys: make([]uint64, 2*leaves)}
	for i := range t.keys {
		t.keys[i] = none
	}
	return t
}

func (t *tree) top() uint64 { return t.keys[1] }

func (t *tree) leaf(i int) uint64 { return t.keys[len(t.keys)/2+i] }

func (t *tree) set(i int, key uint64) {
	keys := t.keys
	at := uint(len(keys)/2 + i)
	for at > 1 && at^1 < uint(len(keys)) {
		keys[at] = key
		key = min(key, keys[at^1])
		at >>= 1
	}
	keys[1] = key
}
