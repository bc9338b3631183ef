// Package yaml reads YAML into Go values and says exactly what is wrong with it:
// every message has a place and says what is allowed. Scenarios, experiments and
// topologies are read by it.
//
// A text becomes a tree of Nodes, each with the place where it was written. A
// Decoder fills structs from nodes by their yaml tags; types with a notation of
// their own are Forms. A part of a tree can be kept as it is and read later, on
// top of something that is not known yet (see Patch).
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Shape says what a node is.
type Shape uint8

// Shapes of nodes.
const (
	Null    Shape = iota // no value
	Word                 // a plain value
	Mapping              // keys with values
	List
	Foreign // anchors, aliases, tags: parts of YAML that are not used
)

// Node is a part of a document.
type Node struct {
	Shape   Shape
	Text    string  // of a word
	Quoted  bool    // the word was written in quotes: it is no number
	Literal bool    // the word is a number or a truth value by the rules of YAML
	Keys    []Entry // of a mapping, in order
	Items   []*Node // of a list
	At      Place
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Key   string
	Odd   bool // the key is no plain word
	At    Place
	Value *Node
}

// Source is a text that is read: a file, or a setting of the command line.
type Source struct {
	Name    string
	lines   []string
	setting bool
}

// NewSource returns a file of that name.
func NewSource(name string, data []byte) *Source {
	return &Source{Name: name, lines: strings.Split(string(data), "\n")}
}

// Setting returns a setting, which messages repeat as a whole.
func Setting(text string) *Source { return &Source{Name: text, setting: true} }

// Place is where something was written; line 0 means the source as a whole.
type Place struct {
	Source       *Source
	Line, Column int
}

// Error makes an error at a place.
func (p Place) Error(err error) *InputError {
	switch {
	case p.Source == nil:
		return &InputError{Err: err}
	case p.Source.setting:
		return &InputError{File: p.Source.Name, Err: err}
	}
	e := &InputError{File: p.Source.Name, Line: p.Line, Column: p.Column, Err: err}
	if p.Line >= 1 && p.Line <= len(p.Source.lines) {
		e.source = p.Source.lines[p.Line-1]
	}
	return e
}

// MaxFile bounds a file; the longest list of flows that makes sense as text is far
// below it.
const MaxFile = 8 << 20

// Parse returns the one document of a text; what says what it holds.
func Parse(src *Source, data []byte, what string) (*Node, error) {
	if len(data) > MaxFile {
		return nil, Place{Source: src}.Error(fmt.Errorf("this has more than %d bytes; allowed: at most so many", MaxFile))
	}
	if wide(data) {
		return nil, Place{Source: src}.Error(errors.New("this is text in UTF-16; allowed: UTF-8, as the editor can save it, or `iconv -f UTF-16 -t UTF-8`"))
	}
	if line := tooDeep(data); line > 0 {
		return nil, Place{src, line, 1}.Error(fmt.Errorf("keys are nested too deeply; allowed: at most %d levels", maxDepth))
	}
	file, err := parseYAML(bytes.TrimPrefix(data, []byte("\ufeff"))) // some editors begin files so
	if err != nil {
		return nil, syntaxError(src, data, err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if _, ok := doc.Body.(*ast.DirectiveNode); !ok { // %YAML 1.2
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		article := "a"
		if strings.ContainsRune("aeiou", rune(what[0])) {
			article = "an"
		}
		return nil, Place{src, 1, 1}.Error(fmt.Errorf("the file is empty; allowed: %s %s", article, what))
	case 1:
		return src.node(bodies[0]), nil
	default:
		return nil, src.place(bodies[1]).Error(fmt.Errorf("a second document begins here; allowed: one %s per file", what))
	}
}

// wide reports whether a text is in UTF-16: it begins with its mark, or with a letter
// and a zero.
func wide(data []byte) bool {
	if len(data) < 2 {
		return false
	}
	switch {
	case data[0] == 0xff && data[1] == 0xfe, data[0] == 0xfe && data[1] == 0xff:
		return true
	}
	return (data[0] == 0) != (data[1] == 0)
}

// ReadLimited reads a text, but not much more than MaxFile of it: Parse refuses what
// is longer, and an input may have no end.
func ReadLimited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxFile+1)) }

// ParseSetting reads the value of a `path=value`.
func ParseSetting(src *Source, text string) (*Node, error) {
	if tooDeep([]byte(text)) > 0 {
		return nil, Place{Source: src}.Error(fmt.Errorf("keys are nested too deeply; allowed: at most %d levels", maxDepth))
	}
	file, err := parseYAML([]byte(text))
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, Place{Source: src}.Error(fmt.Errorf("%q is not a value; allowed: YAML", text))
	}
	return src.node(file.Docs[0].Body), nil
}

// parseYAML reads the text. The parser is not ours and a broken file must never
// end the program, so a panic counts as a syntax error.
func parseYAML(data []byte) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("cannot be read as YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// syntaxError says where a text is not YAML.
func syntaxError(src *Source, data []byte, err error) error {
	p := Place{src, 1, 1}
	message := err.Error()
	var syntax *goccy.SyntaxError
	if errors.As(err, &syntax) {
		message, _, _ = strings.Cut(syntax.GetMessage(), "\n")
		message = message[:min(len(message), MaxWord)]
		if t := syntax.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = t.Position.Line, t.Position.Column
		}
	}
	if strings.ContainsRune(message, '\t') || strings.Contains(message, "tab character") {
		lines := bytes.Split(data, []byte("\n"))
		if at := bytes.IndexByte(lines[max(1, min(p.Line, len(lines)))-1], '\t'); at >= 0 {
			p.Column = at + 1
		}
		return p.Error(errors.New("tab character in the indentation; allowed: spaces, since YAML does not permit tabs there"))
	}
	return p.Error(fmt.Errorf("%s; allowed: YAML", message))
}

// maxDepth bounds nesting before the parser sees it: it recurses, and a stack
// that overflows cannot be recovered from. Scenarios need six levels.
const maxDepth = 64

// tooDeep returns the first line that is nested too deeply, 0 when none is.
func tooDeep(data []byte) int {
	brackets := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		brackets += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		if brackets > maxDepth {
			return i + 1
		}
		brackets = max(0, brackets-bytes.Count(line, []byte("]"))-bytes.Count(line, []byte("}")))
		indent := line[:len(line)-len(bytes.TrimLeft(line, " -?:\t"))]
		// A level takes two columns when lines are indented by hand.
		if len(indent) > 8*maxDepth || bytes.Count(indent, []byte("-"))+bytes.Count(indent, []byte("?")) > maxDepth {
			return i + 1
		}
	}
	return 0
}

// node turns what the parser made into a Node.
func (s *Source) node(n ast.Node) *Node {
	to := &Node{At: s.place(n)}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode, *ast.MappingValueNode:
		to.Shape = Mapping
		for _, pair := range pairs(n) {
			key := s.node(pair.Key)
			to.Keys = append(to.Keys, Entry{Key: key.Text, Odd: key.Shape != Word, At: key.At, Value: s.node(pair.Value)})
		}
	case *ast.SequenceNode:
		to.Shape = List
		for _, item := range n.Values {
			to.Items = append(to.Items, s.node(item))
		}
	default:
		to.word(n)
	}
	return to
}

// word reads a plain value, or finds that it is none.
func (to *Node) word(n ast.Node) {
	to.Shape = Word
	switch n := n.(type) {
	case *ast.StringNode:
		t := n.GetToken()
		to.Text, to.Quoted = n.Value, t != nil && (t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType)
		return
	case *ast.LiteralNode:
		to.Text, to.Quoted = n.Value.Value, true
		return
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		if t := n.GetToken(); t != nil {
			to.Text = t.Value
			switch n.(type) {
			case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
				to.Literal = true
			}
			return
		}
	}
	to.Shape = Foreign
}

// pairs returns those of a mapping.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// place returns where a node begins.
func (s *Source) place(n ast.Node) Place {
	p := Place{s, 1, 1}
	if n == nil {
		return p
	}
	if list := pairs(n); len(list) > 0 {
		n = list[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		p.Line, p.Column = t.Position.Line, t.Position.Column
	}
	return p
}
