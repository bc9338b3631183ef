package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/xoff-net/xoff/internal/yaml"
)

// Location is where a value was written; parts that do not apply are empty.
type Location struct {
	File  string `json:"file,omitempty"`
	Table string `json:"table,omitempty"`
	Key   string `json:"key,omitempty"`
	Field string `json:"field,omitempty"`
}

func (p Location) String() string {
	var parts []string
	for _, s := range []string{p.File, p.Table, p.Key, p.Field} {
		if s != "" {
			parts = append(parts, shorten(s))
		}
	}
	return strings.Join(parts, ": ")
}

// maxShown is the number of bytes of a name that messages repeat.
const maxShown = 120

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// Errorf returns a *yaml.InputError at the location.
func (p Location) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	file := shorten(p.File)
	p.File = ""
	if in := p.String(); in != "" {
		err = fmt.Errorf("%s: %w", in, err)
	}
	return &yaml.InputError{File: file, Err: err}
}

// errorf returns an error about a whole file.
func errorf(file, format string, args ...any) error {
	return Location{File: file}.Errorf(format, args...)
}

// Limits of a file, far above the configuration of the largest switch. Input beyond them
// is rejected before it takes time and memory.
const (
	maxFileBytes = 32 << 20
	maxName      = 1 << 16 // bytes of a key, which may list all ports
	maxParts     = 1 << 12 // parts of a configuration that is a list
	maxTables    = 1 << 12
	maxFields    = 1 << 13 // fields of an entry; CABLE_LENGTH has one for each port
	maxRows      = 1 << 16 // rows of a table or a lookup file
	maxNamed     = 1 << 12 // rows of a table whose entries are referenced by name
)

// readFile reads a file of at most maxFileBytes, without its byte order mark.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, fileError(name, err)
	case len(text) > maxFileBytes:
		return nil, errorf(name, "file is larger than %d MiB (expected the configuration of one switch)", maxFileBytes>>20)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// row is an entry of a table, with its fields in the order of the file.
type row struct {
	key    string
	fields []field
}

type field struct {
	name, value string
	wrongType   string // JSON type of a value that is not a string; empty: a string
}

// tables has the tables of one switch by name, with rows in the order of the file.
type tables struct {
	file  string
	asic  string   // namespace of a chip in a switch with several, such as asic0; else empty
	names []string // in order of appearance
	rows  map[string][]row
}

// parseTables returns the tables in JSON, of one switch or of every chip of a switch. The nested
// form is {TABLE: {key: {field: value}}}, the flat form {"TABLE|key": {field: value}}; a list of
// such parts is also accepted. Tables may be wrapped in the namespaces localhost and asic0,
// asic1, and so on. A chip inherits DEVICE_METADATA of localhost.
func parseTables(file string, text []byte) ([]*tables, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	host := newTables(file, "")
	p := &parser{tables: host, d: d, text: text}
	if err := p.file(); err != nil {
		return nil, err
	}
	if _, more := d.Token(); !errors.Is(more, io.EOF) {
		return nil, p.errorf("text after the end of the configuration (expected a single JSON value)")
	}
	const shared = "DEVICE_METADATA"
	for _, c := range p.chips {
		if len(host.rows[shared]) > 0 {
			if _, seen := c.rows[shared]; !seen {
				c.names = append(c.names, shared)
			}
			c.rows[shared] = append(slices.Clone(host.rows[shared]), c.rows[shared]...)
		}
	}
	if len(p.chips) == 0 || len(host.rows["PORT"]) > 0 {
		return append([]*tables{host}, p.chips...), nil
	}
	return p.chips, nil
}

// newTables returns empty tables of a file. Messages name the file and the namespace.
func newTables(file, asic string) *tables {
	if asic != "" {
		file += ": " + asic
	}
	return &tables{file: file, asic: asic, rows: map[string][]row{}}
}

type parser struct {
	*tables           // tables that are being read
	chips   []*tables // tables of the namespaces asicN
	d       *json.Decoder
	text    []byte
	seen    map[string]int64 // offsets of the tables and entries of the current part, as TABLE and TABLE|key
}

// errorf returns an error at the parser's current line and column.
func (p *parser) errorf(format string, args ...any) error {
	return errorf(p.tables.file, "%s: %s", p.position(p.d.InputOffset()), fmt.Sprintf(format, args...))
}

// position returns the line and column of an offset.
func (p *parser) position(at int64) string {
	at = min(at, int64(len(p.text)))
	line := 1 + bytes.Count(p.text[:at], []byte{'\n'})
	return fmt.Sprintf("line %d, column %d", line, at-int64(bytes.LastIndexByte(p.text[:at], '\n')))
}

// once returns an error if a name was seen before; seen has the offsets of names. JSON allows
// duplicates, but readers differ in what they make of them.
func (p *parser) once(seen map[string]int64, what, name string) error {
	at := p.d.InputOffset()
	if before, twice := seen[name]; twice {
		return errorf(p.tables.file, "duplicate %s %s: %s and %s (expected once)", what, shorten(name), p.position(before), p.position(at))
	}
	seen[name] = at
	return nil
}

// namespace returns the tables of a namespace, or nil if name is not one.
func (p *parser) namespace(name string) *tables {
	if name == "localhost" {
		return p.tables
	}
	digits, ok := strings.CutPrefix(name, "asic")
	if !ok || digits == "" || len(digits) > 3 || strings.Trim(digits, "0123456789") != "" {
		return nil
	}
	for _, c := range p.chips {
		if c.asic == name {
			return c
		}
	}
	c := newTables(p.tables.file, name)
	p.chips = append(p.chips, c)
	return c
}

// token returns the next JSON token.
func (p *parser) token() (json.Token, error) {
	t, err := p.d.Token()
	return t, p.explain(err)
}

// explain adds the location to an error of the JSON decoder.
func (p *parser) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.errorf("the file ends early (expected complete JSON)")
	}
	return p.errorf("not valid JSON: %v", err)
}

func (p *parser) file() error {
	t, err := p.token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		p.seen = map[string]int64{}
		return p.part(true)
	case json.Delim('['):
		for n := 0; p.d.More(); n++ {
			t, err := p.token()
			if err != nil {
				return err
			}
			if n == maxParts {
				return p.errorf("more than %d parts (expected the configuration of one switch)", maxParts)
			}
			if t != json.Delim('{') {
				return p.errorf("%s is not a part of a configuration (expected a mapping of tables)", kindOf(t))
			}
			p.seen = map[string]int64{}
			if err := p.part(true); err != nil {
				return err
			}
		}
		_, err := p.token()
		return err
	}
	return p.errorf("%s is not a configuration (expected a mapping of tables, or a list of such mappings)", kindOf(t))
}

// part reads the rest of a mapping of tables. At the top, it may contain namespaces.
func (p *parser) part(top bool) error {
	for p.d.More() {
		name, err := p.name()
		if err != nil {
			return err
		}
		table, key, flat := cutFlat(name)
		if flat {
			err = p.once(p.seen, "entry", table+"|"+key)
		} else {
			err = p.once(p.seen, "table", name)
		}
		if err != nil {
			return err
		}
		if top {
			if inner := p.namespace(name); inner != nil {
				if err := p.within(name, inner); err != nil {
					return err
				}
				continue
			}
		}
		known, err := p.noteTable(table)
		if err != nil {
			return err
		}
		if !known {
			if err := p.skip(); err != nil {
				return err
			}
			continue
		}
		t, err := p.token()
		switch {
		case err != nil:
			return err
		case t != json.Delim('{'):
			return p.errorf("%s is %s (expected a mapping)", shorten(name), kindOf(t))
		case flat:
			err = p.entry(table, key)
		default:
			err = p.table(table)
		}
		if err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

// within reads the tables of a namespace. Tables in localhost and tables outside of it share
// their names.
func (p *parser) within(name string, inner *tables) error {
	t, err := p.token()
	switch {
	case err != nil:
		return err
	case t != json.Delim('{'):
		return p.errorf("%s is %s (expected a mapping of tables)", name, kindOf(t))
	}
	outer, seen := p.tables, p.seen
	if p.tables = inner; inner != outer {
		p.seen = map[string]int64{}
	}
	err = p.part(false)
	p.tables, p.seen = outer, seen
	return err
}

// cutFlat splits the name of an entry in flat form. The LLDP table comes from the
// application database, which separates key and table by a colon.
func cutFlat(name string) (table, key string, flat bool) {
	if table, key, flat = strings.Cut(name, "|"); flat {
		return strings.TrimSpace(table), key, true
	}
	if key, flat = strings.CutPrefix(name, lldpTable+":"); flat {
		return lldpTable, key, true
	}
	return name, "", false
}

// noteTable records a table and reports whether it is known.
func (p *parser) noteTable(table string) (known bool, err error) {
	if _, seen := p.rows[table]; !seen {
		if len(p.names) == maxTables {
			return false, p.errorf("more than %d tables (expected the configuration of one switch)", maxTables)
		}
		p.rows[table] = nil
		p.names = append(p.names, table)
	}
	_, known = readers[table]
	return known, nil
}

func (p *parser) table(name string) error {
	for p.d.More() {
		key, err := p.name()
		if err != nil {
			return err
		}
		if err := p.once(p.seen, "entry", name+"|"+key); err != nil {
			return err
		}
		t, err := p.token()
		if err != nil {
			return err
		}
		if t != json.Delim('{') {
			return p.errorf("%s: %s is %s (expected a mapping of fields)", name, shorten(key), kindOf(t))
		}
		if err := p.entry(name, key); err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

func (p *parser) entry(table, key string) error {
	if limit := readers[table].maxRows; len(p.rows[table]) == limit {
		return p.errorf("%s has more than %d entries (expected the configuration of one switch)", table, limit)
	}
	r, seen := row{key: key}, map[string]int64{}
	for p.d.More() {
		name, err := p.name()
		if err != nil {
			return err
		}
		if err := p.once(seen, "field", table+"|"+key+": "+name); err != nil {
			return err
		}
		f := field{name: name, wrongType: p.nestedKind()}
		if f.wrongType != "" {
			err = p.skip()
		} else {
			var t json.Token
			if t, err = p.token(); err == nil {
				if s, ok := t.(string); ok {
					f.value = strings.Map(printable, s)
				} else {
					f.wrongType = kindOf(t)
				}
			}
		}
		if err != nil {
			return err
		}
		if len(r.fields) == maxFields {
			return p.errorf("%s: %s has more than %d fields (expected the configuration of one switch)", table, shorten(key), maxFields)
		}
		r.fields = append(r.fields, f)
	}
	p.rows[table] = append(p.rows[table], r)
	_, err := p.token()
	return err
}

// printable replaces control characters by blanks, so that values are safe to print.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// nestedKind returns the kind of the next value if it is a mapping or a list, else "".
func (p *parser) nestedKind() string {
	rest := bytes.TrimLeft(p.text[min(p.d.InputOffset(), int64(len(p.text))):], " \t\r\n:")
	if len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') {
		return kindOf(json.Delim(rest[0]))
	}
	return ""
}

func (p *parser) name() (string, error) {
	t, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", p.errorf("%s is not a name (expected a string)", kindOf(t))
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", p.errorf("a name has a control character: %q (expected printable text)", shorten(s))
	}
	if len(s) > maxName {
		return "", p.errorf("a name has %d bytes (expected at most %d)", len(s), maxName)
	}
	return s, nil
}

// skip skips the next value, of any type.
func (p *parser) skip() error {
	var v skipped
	return p.explain(p.d.Decode(&v))
}

// skipped is a JSON value that is not decoded.
type skipped struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (skipped) UnmarshalJSON([]byte) error { return nil }

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '[' || t == ']' {
			return "a list"
		}
		return "a mapping"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	}
	return "null"
}
