package deadlock

// Printed is Roundabout's Algorithm 1 as printed, at one ingress queue; comments give its line
// numbers. It is kept for study: election_explore_test.go shows where it fails.
type Printed struct {
	Sid, Qid uint16
	Off      bool
	Found    bool
	Init     Tuple
	Curr     Tuple
}

// PrintedActions is what to send upstream: opcodes 1 and 2 of Table I.
type PrintedActions struct {
	Pause   Tuple // PAUSE with a tuple
	Resume  Tuple // RESUME with a tuple
	Invalid Tuple // opcode 2
}

// elect is lines 3 to 7.
func elect(a, b Tuple) Tuple {
	if a.Sid == b.Sid && a.Qid == b.Qid || !b.Valid {
		return a
	}
	if a.Rand < b.Rand {
		return a
	}
	return b
}

// SendPause is lines 8 to 12.
func (p *Printed) SendPause(rand uint32) PrintedActions {
	p.Off, p.Found = true, false
	p.Init = Tuple{Rand: rand, Sid: p.Sid, Qid: p.Qid, Valid: true}
	p.Curr = elect(p.Init, p.Curr)
	return PrintedActions{Pause: p.Curr}
}

// SendResume is lines 13 to 16.
func (p *Printed) SendResume() PrintedActions {
	say := PrintedActions{Resume: p.Curr}
	p.Off, p.Found = false, false
	p.Init.Valid, p.Curr.Valid = false, false
	return say
}

// PeerGetPause is lines 17 to 29. The queue has frames in the paused egress.
func (p *Printed) PeerGetPause(t Tuple) (say PrintedActions) {
	if p.Init.Valid && p.Init == t {
		p.Found = true
		return say
	}
	if p.Init.Valid && !p.Curr.Valid {
		p.Curr = elect(t, p.Init)
	} else {
		if p.Curr == t {
			return say
		}
		p.Curr = elect(t, p.Curr)
	}
	p.Curr.Valid = true
	if p.Off {
		say.Pause = p.Curr
	}
	return say
}

// PeerGetResume is lines 30 to 36.
func (p *Printed) PeerGetResume(t Tuple) (say PrintedActions) {
	if p.Off && p.Curr.Sid == t.Sid && p.Curr.Qid == t.Qid {
		say.Invalid, say.Pause = t, p.Init
		p.Curr = p.Init
		p.Curr.Valid = true
	}
	return say
}

// PeerGetInvalid is lines 37 to 40.
func (p *Printed) PeerGetInvalid(t Tuple) (say PrintedActions) {
	if p.Curr.Valid && t == p.Curr {
		p.Curr.Valid = false
		say.Invalid = t
	}
	return say
}
