package goal

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/xoff-net/xoff/internal/yaml"
)

// maxLine is the length of the longest accepted line, in bytes.
const maxLine = 1 << 20

// statement is a line of a rank: an operation, or a dependency between two labels.
type statement struct {
	op      Op
	label   []byte // of the operation, or the waiting label; nil if there is none
	on      []byte // label that is waited for; nil for an operation
	atStart bool
}

// parser reads text line by line. Labels of a statement are valid until the next line.
type parser struct {
	name         string
	in           *bufio.Reader
	at           int64 // offset of the line
	line, column int   // of the first byte of text
	text         []byte
	i            int // next byte of text
	comment      bool
	ranks        int64 // 0 before num_ranks
	rank         int   // current rank, -1 outside
}

// next reads a line. It returns io.EOF after the last one.
func (p *parser) next() error {
	p.at += int64(len(p.text))
	text, err := p.in.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		p.line, p.column, p.text, p.i = p.line+1, 1, nil, 0
		return p.errorf("line is longer than %d bytes", maxLine)
	case err != nil && err != io.EOF:
		return err
	case len(text) == 0:
		return io.EOF
	}
	p.text, p.i = text, 0
	p.line, p.column = p.line+1, 1
	return nil
}

func (p *parser) errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if p.rank >= 0 {
		err = fmt.Errorf("rank %d: %w", p.rank, err)
	}
	return &yaml.InputError{File: p.name, Line: p.line, Column: p.column + p.i, Err: err}
}

// expected returns an error about the next word.
func (p *parser) expected(what string) error {
	p.blanks()
	end := p.i
	for end < len(p.text) && p.text[end] > ' ' && end < p.i+32 {
		end++
	}
	if end == p.i {
		return p.errorf("the line ends early (expected %s)", what)
	}
	return p.errorf("found %q (expected %s)", p.text[p.i:end], what)
}

func (p *parser) blanks() {
	for p.i < len(p.text) && (p.text[p.i] == ' ' || p.text[p.i] == '\t') {
		p.i++
	}
}

// take consumes a word, which need not be followed by a blank.
func (p *parser) take(word string) bool {
	p.blanks()
	if len(p.text)-p.i >= len(word) && string(p.text[p.i:p.i+len(word)]) == word {
		p.i += len(word)
		return true
	}
	return false
}

// identifier consumes an identifier; nil if there is none.
func (p *parser) identifier() []byte {
	p.blanks()
	from := p.i
	for p.i < len(p.text) {
		c := p.text[p.i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (p.i == from || c != '_' && (c < '0' || c > '9')) {
			break
		}
		p.i++
	}
	return p.text[from:p.i:p.i]
}

// number consumes an integer of at most high.
func (p *parser) number(what string, high uint64) (uint64, error) {
	p.blanks()
	from, v := p.i, uint64(0)
	for ; p.i < len(p.text) && p.text[p.i] >= '0' && p.text[p.i] <= '9'; p.i++ {
		d := uint64(p.text[p.i] - '0')
		if d > high || v > (high-d)/10 {
			p.i = from
			return 0, p.expected(fmt.Sprintf("%s of at most %d", what, high))
		}
		v = 10*v + d
	}
	if p.i == from {
		return 0, p.expected(what + ", a whole number")
	}
	return v, nil
}

// lineEnd reports whether nothing but comments is left of the line, and consumes them.
func (p *parser) lineEnd() bool {
	for {
		if p.comment {
			end := bytes.Index(p.text[p.i:], []byte("*/"))
			if end < 0 {
				p.i = len(p.text)
				return true
			}
			p.i += end + 2
			p.comment = false
		}
		p.blanks()
		rest := p.text[p.i:]
		switch {
		case len(rest) == 0 || rest[0] == '\n' || string(rest) == "\r\n" || string(rest) == "\r" || bytes.HasPrefix(rest, []byte("//")):
			p.i = len(p.text)
			return true
		case bytes.HasPrefix(rest, []byte("/*")):
			p.i += 2
			p.comment = true
		default:
			return false
		}
	}
}

// events receives what a parser finds. Offsets count from the beginning of the input.
type events struct {
	open      func(offset int64) error // after the brace that begins a rank
	statement func(*statement) error
	close     func(offset int64) error // at the brace that ends a rank
}

// parse reads to the end of the input.
func (p *parser) parse(on events) error {
	var s statement
	for {
		if p.lineEnd() {
			if err := p.next(); err == io.EOF {
				if p.comment {
					return p.errorf("comment without an end (expected */)")
				}
				return nil
			} else if err != nil {
				return err
			}
			continue
		}
		if p.take("}") {
			if p.rank < 0 {
				p.i--
				return p.expected("rank")
			}
			if err := on.close(p.at + int64(p.i) - 1); err != nil {
				return err
			}
			p.rank = -1
			continue
		}
		from := p.i
		word := p.identifier()
		var err error
		switch {
		case string(word) == "num_ranks" && p.rank < 0:
			err = p.numRanks(from)
		case string(word) == "rank" && p.rank < 0:
			if err = p.rankBlock(); err == nil {
				err = on.open(p.at + int64(p.i))
			}
		case len(word) == 0 || p.rank < 0 || string(word) == "rank" || string(word) == "num_ranks":
			p.i = from
			switch {
			case p.ranks == 0:
				err = p.expected("num_ranks")
			case p.rank < 0:
				err = p.expected("rank")
			default:
				err = p.expected("a label, send, recv, calc or }")
			}
		default:
			s = statement{}
			if err = p.statement(&s, word); err == nil {
				err = on.statement(&s)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) numRanks(from int) error {
	if p.ranks > 0 {
		p.i = from
		return p.errorf("num_ranks is given twice")
	}
	n, err := p.number("number of ranks", MaxRanks)
	if err == nil && n == 0 {
		err = p.errorf("0 ranks (expected 1 to %d)", MaxRanks)
	}
	p.ranks = int64(n)
	return err
}

func (p *parser) rankBlock() error {
	if p.ranks == 0 {
		return p.errorf("rank before num_ranks (expected num_ranks first)")
	}
	n, err := p.number("rank", uint64(p.ranks)-1)
	if err != nil {
		return err
	}
	if !p.take("{") {
		return p.expected("{")
	}
	p.rank = int(n)
	return nil
}

// statement parses a line that begins with a word.
func (p *parser) statement(s *statement, word []byte) error {
	kind := kindOf(word)
	if kind == 0 {
		s.label = word
		switch {
		case p.take(":"):
			for _, k := range []Kind{Send, Recv, Calc} {
				if p.take(k.String()) {
					kind = k
					break
				}
			}
			if kind == 0 {
				return p.expected("send, recv or calc")
			}
		case p.take("requires"):
			return p.dependency(s)
		case p.take("irequires"):
			s.atStart = true
			return p.dependency(s)
		default:
			return p.expected(":, requires or irequires")
		}
	}
	s.op.Kind = kind
	if err := p.operands(&s.op); err != nil {
		return err
	}
	if !p.lineEnd() {
		return p.expected("the end of the line, or one of tag, cpu and nic in this order")
	}
	return nil
}

func (p *parser) dependency(s *statement) error {
	if s.on = p.identifier(); len(s.on) == 0 {
		return p.expected("a label")
	}
	if !p.lineEnd() {
		return p.expected("the end of the line")
	}
	return nil
}

func kindOf(word []byte) Kind {
	switch string(word) {
	case "send":
		return Send
	case "recv":
		return Recv
	case "calc":
		return Calc
	}
	return 0
}

// operands parses an operation after its name.
func (p *parser) operands(op *Op) (err error) {
	if op.Kind == Calc {
		if op.Size, err = p.number("duration in ns", math.MaxUint64); err == nil && p.take("cpu") {
			err = p.small("cpu", &op.CPU)
		}
		return err
	}
	if op.Size, err = p.number("size in bytes", math.MaxUint64); err != nil {
		return err
	}
	if !p.take("b") {
		return p.expected("b")
	}
	direction := "to"
	if op.Kind == Recv {
		direction = "from"
	}
	if !p.take(direction) {
		return p.expected(direction)
	}
	if op.Kind == Recv && p.take("-1") {
		op.Peer = Any
	} else if op.Peer, err = p.word("rank", uint64(p.ranks)-1); err != nil {
		return err
	}
	if p.take("tag") {
		if p.take("-1") {
			op.Tag = Any
		} else if op.Tag, err = p.word("tag", Any-1); err != nil {
			return err
		}
	}
	if p.take("cpu") {
		if err = p.small("cpu", &op.CPU); err != nil {
			return err
		}
	}
	if p.take("nic") {
		err = p.small("nic", &op.NIC)
	}
	return err
}

func (p *parser) word(what string, high uint64) (uint32, error) {
	v, err := p.number(what, high)
	return uint32(v), err
}

func (p *parser) small(what string, to *uint8) error {
	v, err := p.number(what, math.MaxUint8)
	*to = uint8(v)
	return err
}
