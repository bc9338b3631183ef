package dataplane

import "github.com/xoff-net/xoff/base/packet"

// wordQueue stores the extensions of queued packets, in queue order.
type wordQueue struct {
	words []uint64 // length of each extension, followed by its words
	head  int
}

// push appends an extension that consists of two parts.
func (q *wordQueue) push(a, b packet.Ext) {
	if q.head == len(q.words) {
		q.words, q.head = q.words[:0], 0
	} else if q.head > 64 && q.head > len(q.words)/2 {
		q.words, q.head = append(q.words[:0], q.words[q.head:]...), 0
	}
	q.words = append(q.words, uint64(len(a)+len(b)))
	if len(a) > 0 {
		q.words = append(q.words, a...)
	}
	if len(b) > 0 {
		q.words = append(q.words, b...)
	}
}

// pop removes and returns the first extension, which is valid until the next push.
func (q *wordQueue) pop() packet.Ext {
	n := int(q.words[q.head])
	ext := packet.Ext(q.words[q.head+1 : q.head+1+n])
	q.head += 1 + n
	return ext
}
