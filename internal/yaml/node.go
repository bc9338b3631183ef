// Package yaml decodes YAML strictly into Go values: every error has a location and says
// what is expected. Scenarios, experiments and topologies are decoded with it.
//
// Parse turns text into a tree of Nodes, each with its location. A Decoder fills structs
// from nodes by their yaml tags; types with a custom notation are Forms. A Patch keeps part
// of a tree undecoded until the value that it changes is known.
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
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// Shape is the kind of a node.
type Shape uint8

// Shapes of nodes.
const (
	Null    Shape = iota // no value
	Scalar               // a plain or quoted value
	Mapping              // keys with values
	List
	Unsupported // other YAML: anchors, aliases, tags
)

// Node is a part of a document.
type Node struct {
	Shape   Shape
	Text    string  // of a scalar
	Quoted  bool    // the scalar was quoted, so it is not a number
	Literal bool    // the scalar is a YAML number or boolean
	Keys    []Entry // of a mapping, in order
	Items   []*Node // of a list
	At      Location
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Key       string
	NotScalar bool // the key is a mapping, a list, null or unsupported
	At        Location
	Value     *Node
}

// Source is the origin of a text: a file, or a setting on the command line.
type Source struct {
	Name    string
	lines   []string
	setting bool
}

// NewSource returns the source for a file.
func NewSource(name string, data []byte) *Source {
	return &Source{Name: name, lines: strings.Split(string(data), "\n")}
}

// Setting returns the source for a setting. Messages quote it in full.
func Setting(text string) *Source { return &Source{Name: text, setting: true} }

// Location is a position in a source; line 0 means the whole source.
type Location struct {
	Source       *Source
	Line, Column int
}

// Error returns err with the location.
func (p Location) Error(err error) *InputError {
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

// MaxFile is the maximum size of a file in bytes.
const MaxFile = 8 << 20

// Parse returns the only document of a text. Messages call the document what, such as
// "scenario".
func Parse(src *Source, data []byte, what string) (*Node, error) {
	if len(data) > MaxFile {
		return nil, Location{Source: src}.Error(fmt.Errorf("file is larger than %d MiB", MaxFile>>20))
	}
	if isUTF16(data) {
		return nil, Location{Source: src}.Error(errors.New("text is encoded in UTF-16 (expected UTF-8); fix: save as UTF-8, or run `iconv -f UTF-16 -t UTF-8`"))
	}
	file, line, err := parseYAML(bytes.TrimPrefix(data, []byte("\ufeff"))) // byte order mark
	switch {
	case line > 0:
		return nil, Location{src, line, 1}.Error(errTooDeep)
	case err != nil:
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
		return nil, Location{src, 1, 1}.Error(fmt.Errorf("the file is empty (expected %s %s)", article, what))
	case 1:
		return src.node(bodies[0]), nil
	default:
		return nil, src.location(bodies[1]).Error(fmt.Errorf("a second document starts here (expected one %s per file)", what))
	}
}

// isUTF16 reports whether a text is UTF-16: it starts with a byte order mark, or exactly one
// of its first two bytes is zero.
func isUTF16(data []byte) bool {
	if len(data) < 2 {
		return false
	}
	switch {
	case data[0] == 0xff && data[1] == 0xfe, data[0] == 0xfe && data[1] == 0xff:
		return true
	}
	return (data[0] == 0) != (data[1] == 0)
}

// ReadLimited reads at most one byte more than MaxFile, so that Parse can reject endless
// input.
func ReadLimited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxFile+1)) }

// ParseSetting parses the value of a `path=value` setting.
func ParseSetting(src *Source, text string) (*Node, error) {
	file, line, err := parseYAML([]byte(text))
	if line > 0 {
		return nil, Location{Source: src}.Error(errTooDeep)
	}
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, Location{Source: src}.Error(fmt.Errorf("bad value: %q (expected YAML)", text))
	}
	return src.node(file.Docs[0].Body), nil
}

// parseYAML calls the parser and turns a panic into a syntax error: a broken file must never
// crash the program. For a file that is nested too deeply, it returns the line and does not
// parse.
func parseYAML(data []byte) (f *ast.File, tooDeepAt int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("malformed text")
		}
	}()
	tokens, tooDeepAt := tokenize(data)
	if tooDeepAt > 0 {
		return nil, tooDeepAt, errTooDeep
	}
	f, err = parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	return f, 0, err
}

// syntaxError adds the location to an error of the parser.
func syntaxError(src *Source, data []byte, err error) error {
	p := Location{src, 1, 1}
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
		return p.Error(errors.New("tab character in the indentation (expected spaces)"))
	}
	return p.Error(fmt.Errorf("%s (expected YAML)", message))
}

// maxDepth is the maximum nesting depth. It is checked before parsing: the parser recurses,
// and a stack overflow cannot be recovered. Scenarios need six levels.
const maxDepth = 64

var errTooDeep = fmt.Errorf("keys are nested too deeply (expected at most %d levels)", maxDepth)

// tokenize returns the tokens of a text, or the first line that is nested too deeply. It counts
// brackets among the tokens, so brackets in strings and comments do not count. Block nesting is
// limited by the indentation, at 8 columns per level, and by the - and ? indicators of a line.
func tokenize(data []byte) (tokens token.Tokens, tooDeepAt int) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " -?:\t"))]
		if len(indent) > 8*maxDepth || bytes.Count(indent, []byte("-"))+bytes.Count(indent, []byte("?")) > maxDepth {
			return nil, i + 1
		}
	}
	var s scanner.Scanner
	s.Init(string(data))
	for depth := 0; ; {
		list, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return tokens, 0
		}
		for _, t := range list {
			switch t.Type {
			case token.SequenceStartType, token.MappingStartType:
				if depth++; depth > maxDepth {
					return nil, t.Position.Line
				}
			case token.SequenceEndType, token.MappingEndType:
				depth = max(0, depth-1)
			}
		}
		tokens.Add(list...)
	}
}

// node converts a node of the parser to a Node.
func (s *Source) node(n ast.Node) *Node {
	to := &Node{At: s.location(n)}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode, *ast.MappingValueNode:
		to.Shape = Mapping
		for _, pair := range pairs(n) {
			key := s.node(pair.Key)
			to.Keys = append(to.Keys, Entry{Key: key.Text, NotScalar: key.Shape != Scalar, At: key.At, Value: s.node(pair.Value)})
		}
	case *ast.SequenceNode:
		to.Shape = List
		for _, item := range n.Values {
			to.Items = append(to.Items, s.node(item))
		}
	default:
		to.setScalar(n)
	}
	return to
}

// setScalar sets the text of a scalar; any other node becomes Unsupported.
func (to *Node) setScalar(n ast.Node) {
	to.Shape = Scalar
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
	to.Shape = Unsupported
}

// pairs returns the key-value pairs of a mapping.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// location returns the start of a node; for a mapping, its first key.
func (s *Source) location(n ast.Node) Location {
	p := Location{s, 1, 1}
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
