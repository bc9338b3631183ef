package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ReadFile reads a scenario file. Each set is a `path=value` that overrides a key of
// the file, such as `switch.policy.alpha=1/8`.
func ReadFile(path string, set ...string) (*Config, error) {
	c, err := ReadDraft(path, set...)
	if err != nil {
		return nil, err
	}
	return validated(c)
}

// ReadDraft is ReadFile without the validation.
func ReadDraft(path string, set ...string) (*Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &InputError{File: path, Err: missingFile{}}
	}
	if err != nil {
		return nil, &InputError{Err: err}
	}
	return ParseDraft(path, data, set...)
}

// missingFile is fs.ErrNotExist in words that help.
type missingFile struct{}

func (missingFile) Error() string {
	return "there is no such file; allowed: a scenario, such as the one that `xoff demo` leaves behind"
}

func (missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// Parse reads a scenario, fills in the defaults and validates it. The name stands
// for the file in messages.
func Parse(name string, data []byte, set ...string) (*Config, error) {
	c, err := ParseDraft(name, data, set...)
	if err != nil {
		return nil, err
	}
	return validated(c)
}

func validated(c *Config) (*Config, error) {
	if err := Validate(c); err != nil {
		return nil, err
	}
	return c, nil
}

// ParseDraft is Parse without the validation.
func ParseDraft(name string, data []byte, set ...string) (*Config, error) {
	c := Default()
	c.source = newSource(name, data)
	d := &decoder{src: c.source}
	body, err := document(d, data, "scenario")
	if err != nil {
		return nil, err
	}
	if err := d.value(body, "", reflect.ValueOf(c).Elem()); err != nil {
		return nil, err
	}
	for _, s := range set {
		if err := override(c, s); err != nil {
			return nil, err
		}
	}
	if err := first(c.readTopology(), c.locateFiles()); err != nil {
		return nil, err
	}
	c.settle()
	c.Resolve()
	return c, nil
}

// maxFile bounds a scenario file; the longest list of flows that makes sense as
// text is far below it.
const maxFile = 8 << 20

// document returns the one document of a file; what says what it holds.
func document(d *decoder, data []byte, what string) (ast.Node, error) {
	top := place{line: 1, column: 1}
	if len(data) > maxFile {
		return nil, d.src.errorAt(place{}, fmt.Errorf("the file has %d bytes; allowed: at most %d", len(data), maxFile))
	}
	if line := tooDeep(data); line > 0 {
		return nil, d.src.errorAt(place{line: line, column: 1}, fmt.Errorf("keys are nested too deeply; allowed: at most %d levels", maxDepth))
	}
	file, err := parseYAML(bytes.TrimPrefix(data, []byte("\ufeff"))) // some editors begin files so
	if err != nil {
		return nil, syntaxError(d.src, err)
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
		return nil, d.src.errorAt(top, fmt.Errorf("the file is empty; allowed: %s %s", article, what))
	case 1:
		return bodies[0], nil
	default:
		return nil, d.src.errorAt(placeOf(bodies[1]), fmt.Errorf("a second document begins here; allowed: one %s per file", what))
	}
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

func syntaxError(src *source, err error) error {
	p := place{line: 1, column: 1}
	message := err.Error()
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		message, _, _ = strings.Cut(syntax.GetMessage(), "\n")
		message = message[:min(len(message), maxWord)]
		if t := syntax.GetToken(); t != nil && t.Position != nil {
			p = place{line: t.Position.Line, column: t.Position.Column}
		}
	}
	return src.errorAt(p, fmt.Errorf("%s; allowed: YAML", message))
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

// settle chooses the defaults that depend on which keys were written.
func (c *Config) settle() {
	s := &c.Switch.Scheduler
	lists := map[string]*[]string{"strict": &s.Strict, "dwrr": &s.DWRR, "rr": &s.RR}
	chosen := false
	for name := range lists {
		chosen = chosen || c.source.has("switch.scheduler."+name)
	}
	for name, list := range lists {
		// Who lists groups lists all of them: no default joins in.
		if chosen && !c.source.has("switch.scheduler."+name) {
			*list = nil
		}
	}
	if c.source.has("classes") {
		control, others := c.groups()
		if !chosen {
			s.Strict, s.DWRR, s.RR = control, others, nil
		}
		if !c.source.has("hosts.ack.class") && len(control) > 0 {
			c.Hosts.Ack.Class = control[0]
		}
	}
	if c.source.has("switch.ports") && !c.source.has("switch.buffer.reserve_for") {
		c.Switch.Buffer.ReserveFor = "chip"
	}
	c.settleOverrides()
	if !c.source.has("hosts.reliability.max_timeout") {
		c.Hosts.Reliability.MaxTimeout = max(c.Hosts.Reliability.MaxTimeout, c.Hosts.Reliability.Timeout)
	}
}

// override applies one `path=value`, or one Shorthand.
func override(c *Config, set string) error {
	if strings.HasPrefix(set, "--") {
		return overrideShort(c, set)
	}
	d := &decoder{src: c.source, set: "--set " + set}
	path, text, ok := strings.Cut(set, "=")
	if !ok || path == "" {
		return d.fail(place{}, "", "%q is not a setting; allowed: path=value, such as switch.policy.alpha=1/8", set)
	}
	steps, node, err := d.setting(path, text)
	if err != nil {
		return err
	}
	steps = numbered(reflect.ValueOf(c).Elem(), steps)
	if isMapping(node) {
		c.clear(steps)
	}
	// To choose the scheme that is chosen keeps its parameters: of the variants
	// policy.name=dt,static the first is what the file says.
	if word, _, ok := scalar(node); ok && steps[len(steps)-1].key == "name" {
		v, found := partOf(reflect.ValueOf(c).Elem(), steps[:len(steps)-1])
		if choice, ok := choiceIn(v); found && ok && choice.Name == word {
			return nil
		}
	}
	return d.assign(reflect.ValueOf(c).Elem(), "", steps, node)
}

// numbered replaces the names of list items in a path by their numbers.
func numbered(v reflect.Value, path []step) []step {
	list := slices.Clone(path)
	for i := range list {
		if k := itemNamed(v, list[i].key); k >= 0 && list[i].index < 0 {
			list[i] = step{index: k}
		}
		var ok bool
		if v, ok = partOf(v, list[i:i+1]); !ok {
			break
		}
	}
	return list
}

// itemNamed returns the number of the item of a list that has a name, -1 when
// there is none.
func itemNamed(v reflect.Value, name string) int {
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return -1
	}
	for i := range v.Len() {
		if f := v.Index(i).FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String && f.String() == name {
			return i
		}
	}
	return -1
}

// pathOf writes a path.
func pathOf(steps []step) string {
	path := ""
	for _, s := range steps {
		if s.index >= 0 {
			path += fmt.Sprintf("[%d]", s.index)
		} else {
			path = join(path, s.key)
		}
	}
	return path
}

// setting reads the two sides of a `path=value`.
func (d *decoder) setting(path, text string) ([]step, ast.Node, error) {
	if tooDeep([]byte(text)) > 0 {
		return nil, nil, d.fail(place{}, "", "keys are nested too deeply; allowed: at most %d levels", maxDepth)
	}
	file, err := parseYAML([]byte(text))
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, nil, d.fail(place{}, "", "%q is not a value; allowed: YAML", text)
	}
	steps, ok := splitPath(path)
	if !ok {
		return nil, nil, d.fail(place{}, "", "%q is not a key; allowed: names joined by dots, items of lists as workload[0]", path)
	}
	return steps, file.Docs[0].Body, nil
}

// clear sets a part of a scenario back to its default and forgets what was
// written there: keys that are given in braces replace all of it.
func (c *Config) clear(steps []step) {
	path := pathOf(steps)
	part, usual := reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()
	for i, s := range steps {
		if o, ok := part.Addr().Interface().(*Override); ok {
			o.Keys = o.Keys.without(steps[i:])
			c.source.forget(path)
			return
		}
		if part.Kind() == reflect.Map && part.Type().Key().Kind() == reflect.String && i == len(steps)-1 && s.index < 0 {
			part.SetMapIndex(reflect.ValueOf(s.key), reflect.Value{})
			c.source.forget(path)
			return
		}
		var ok, known bool
		if usual.IsValid() {
			usual, known = partOf(usual, steps[i:i+1])
		}
		if below, inside := partOf(part, steps[i:i+1]); inside {
			part = below
		} else if part, usual, ok = parameter(part, pathOf(steps[:i]), s); !ok {
			return
		} else {
			known = true
		}
		if !known {
			usual = reflect.Value{} // an item of a list
		}
	}
	if usual.IsValid() && usual.Type() == part.Type() {
		part.Set(usual)
	} else {
		part.SetZero()
	}
	c.source.forget(path)
}

// parameter returns a parameter of the scheme that v chooses, and its default.
func parameter(v reflect.Value, path string, s step) (part, usual reflect.Value, ok bool) {
	choice, ok := choiceIn(v)
	if !ok || s.index >= 0 {
		return part, usual, false
	}
	scheme, err := findScheme(kindAt(path), choice.Name)
	if err != nil || scheme.Params == nil || choice.Params == nil {
		return part, usual, false
	}
	fresh := Choice{Params: scheme.Params()}
	if part, ok = choice.part(s.key); ok {
		usual, ok = fresh.part(s.key)
	}
	return part, usual, ok
}

// choiceIn returns the choice that a struct is or holds.
func choiceIn(v reflect.Value) (*Choice, bool) {
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	if inline := v.FieldByName("Choice"); inline.IsValid() {
		v = inline
	}
	choice, ok := v.Addr().Interface().(*Choice)
	return choice, ok
}

// partOf follows a path through structs and lists.
func partOf(v reflect.Value, steps []step) (reflect.Value, bool) {
	for _, s := range steps {
		switch {
		case s.index >= 0 && v.Kind() == reflect.Slice && s.index < v.Len():
			v = v.Index(s.index)
			continue
		case s.index < 0 && v.Kind() == reflect.Struct:
			if i, ok := keysOf(v.Type())[s.key]; ok {
				v = v.Field(i)
				continue
			}
		}
		return reflect.Value{}, false
	}
	return v, true
}

// step is a part of a path: a key, or the index of a list item.
type step struct {
	key   string
	index int // -1: a key
}

// splitPath splits `workload[0].load.share`.
func splitPath(path string) ([]step, bool) {
	var steps []step
	for _, part := range strings.Split(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		steps = append(steps, step{key: name, index: -1})
		for indexed {
			var number string
			number, rest, indexed = strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !indexed || err != nil || i < 0 {
				return nil, false
			}
			steps = append(steps, step{index: i})
			if rest == "" {
				break
			}
			if rest[0] != '[' {
				return nil, false
			}
			rest = rest[1:]
		}
	}
	return steps, true
}
