package goal

// Ring is a schedule in which every rank computes, sends to the next rank and receives from
// the one before, Rounds times. Each round begins when the recv of the previous one is done.
// It has 3 operations per rank and round, and is generated rank by rank.
type Ring struct {
	Size             uint64 // bytes of each message
	Compute          uint64 // ns of each calc
	NumRanks, Rounds int
}

// Ranks returns the number of ranks.
func (r Ring) Ranks() int { return r.NumRanks }

// Rank returns the graph of a rank.
func (r Ring) Rank(rank int) (*Graph, error) {
	var b Builder
	b.Grow(3*r.Rounds, 3*r.Rounds)
	next, previous := uint32((rank+1)%r.NumRanks), uint32((rank+r.NumRanks-1)%r.NumRanks)
	for round := range r.Rounds {
		calc := b.Add(Op{Kind: Calc, Size: r.Compute})
		send := b.Add(Op{Kind: Send, Size: r.Size, Peer: next, Tag: uint32(round)})
		recv := b.Add(Op{Kind: Recv, Size: r.Size, Peer: previous, Tag: uint32(round)})
		b.Require(send, calc)
		b.IRequire(recv, send)
		if round > 0 {
			b.Require(calc, recv-3)
		}
	}
	return b.Graph()
}
