package engine

// sender sends frames without their check sequences, in order. If it sends fewer than all, the
// error belongs to the next frame.
type sender interface {
	Send(frames [][]byte) (sent int, err error)
}

// maxBatch is the number of frames that one system call sends.
const maxBatch = 32

// outbox collects the frames of a port and sends them together.
type outbox struct {
	frames [][]byte // buffers; the first n wait
	n      int
	unsent rejected // frames that could not be sent, by error
}

// next returns an empty buffer for the next frame.
func (o *outbox) next() []byte {
	if o.n == len(o.frames) {
		o.frames = append(o.frames, nil)
	}
	return o.frames[o.n][:0]
}

// add appends a frame that was encoded in the buffer of next. It reports whether the outbox is
// full, so that the caller has to flush it.
func (o *outbox) add(b []byte) bool {
	o.frames[o.n] = b
	o.n++
	return o.n == maxBatch
}

// flush sends the frames. A frame that cannot be sent is lost.
func (o *outbox) flush(to sender) {
	for at := 0; at < o.n; {
		sent, err := to.Send(o.frames[at:o.n])
		if at += sent; at < o.n {
			o.unsent.count(err.Error())
			at++
		}
	}
	o.n = 0
}
