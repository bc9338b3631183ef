//go:build deep

package deadlock

import "testing"

func TestDeepElectionExplored(t *testing.T) {
	for _, m := range []loopModel{
		{n: 3, pauses: 4, resumes: 1, flips: 1, outs: 2, rands: 2},
		{n: 3, pauses: 5, resumes: 2, rands: 3},
		{n: 3, pauses: 5, resumes: 2, flips: 1, rands: 2},
		{n: 4, pauses: 4, resumes: 1, rands: 3},
		{n: 4, pauses: 4, resumes: 1, flips: 1, rands: 2},
		{n: 4, pauses: 6, resumes: 2, rands: 2},
	} {
		m.mustHold(t)
	}
}
