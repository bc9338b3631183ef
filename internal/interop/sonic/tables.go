package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/xoff-net/xoff/internal/yaml"
)

// Place is where something stands.
type Place struct {
	File  string `json:"file,omitempty"`
	Table string `json:"table,omitempty"`
	Key   string `json:"key,omitempty"`
	Field string `json:"field,omitempty"`
}

func (p Place) String() string {
	var parts []string
	for _, s := range []string{p.File, p.Table, p.Key, p.Field} {
		if s != "" {
			parts = append(parts, shorten(s))
		}
	}
	return strings.Join(parts, ": ")
}

// longest is how much of a name is repeated in messages.
const longest = 120

func shorten(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "..."
}

// Errorf returns an error about a configuration that cannot be read.
func (p Place) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	file := shorten(p.File)
	p.File = ""
	if in := p.String(); in != "" {
		err = fmt.Errorf("%s: %w", in, err)
	}
	return &yaml.InputError{File: file, Err: err}
}

// errorf returns an error about a whole file.
func errorf(file, format string, args ...any) error { return Place{File: file}.Errorf(format, args...) }

// What a file may have. A configuration of the largest switches is far below; what is
// above is none, and is refused before time and memory are spent on it.
const (
	mostBytes  = 32 << 20
	mostName   = 1 << 16 // bytes of a key: it may list all ports
	mostParts  = 1 << 12 // of a list
	mostTables = 1 << 12
	mostFields = 1 << 13 // of an entry: CABLE_LENGTH has one for each port
	mostRows   = 1 << 16 // of a table, and of a lookup file
	mostNamed  = 1 << 12 // of a table whose entries others refer to
)

// readFile reads a file, unless it is too large to be what it should.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	switch {
	case err != nil:
		return nil, fileError(name, err)
	case len(text) > mostBytes:
		return nil, errorf(name, "is larger than %d MiB; allowed: the configuration of one switch, which has some MiB at most", mostBytes>>20)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil // some editors write a mark of the byte order
}

// row is an entry of a table: fields in the order in which they stand.
type row struct {
	key    string
	fields []field
}

type field struct {
	name, value string
	wrong       string // JSON type of what is no string; empty: it is one
}

// tables are those of one switch, by name, rows in order.
type tables struct {
	file  string
	names []string // in order of appearance
	rows  map[string][]row
}

// parse reads JSON in nested form {TABLE: {key: {field: value}}}, in flat form
// {"TABLE|key": {field: value}}, or a list of such parts, onto what is there.
func (t *tables) parse(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	p := &parser{t, d, text}
	if err := p.file(); err != nil {
		return err
	}
	if _, more := d.Token(); !errors.Is(more, io.EOF) {
		return p.errorf("there is more behind the end of the configuration; allowed: one JSON value")
	}
	return nil
}

type parser struct {
	*tables
	d    *json.Decoder
	text []byte
}

// errorf is an error at the place where the parser stands.
func (p *parser) errorf(format string, args ...any) error {
	at := min(p.d.InputOffset(), int64(len(p.text)))
	line := 1 + bytes.Count(p.text[:at], []byte{'\n'})
	column := at - int64(bytes.LastIndexByte(p.text[:at], '\n'))
	return errorf(p.tables.file, "line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// token is the next one.
func (p *parser) token() (json.Token, error) {
	t, err := p.d.Token()
	return t, p.explain(err)
}

// explain says what an error of the decoder means.
func (p *parser) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.errorf("the file ends in the middle; allowed: complete JSON")
	}
	return p.errorf("this is no JSON: %v", err)
}

func (p *parser) file() error {
	t, err := p.token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return p.part()
	case json.Delim('['):
		for n := 0; p.d.More(); n++ {
			t, err := p.token()
			if err != nil {
				return err
			}
			if n == mostParts {
				return p.errorf("there are more than %d parts; allowed: those of one switch", mostParts)
			}
			if t != json.Delim('{') {
				return p.errorf("%s is no part of a configuration; allowed: mappings of tables", kindOf(t))
			}
			if err := p.part(); err != nil {
				return err
			}
		}
		_, err := p.token()
		return err
	}
	return p.errorf("%s is no configuration; allowed: a mapping of tables, or a list of such mappings", kindOf(t))
}

// part reads the rest of a mapping of tables.
func (p *parser) part() error {
	for p.d.More() {
		name, err := p.name()
		if err != nil {
			return err
		}
		table, key, flat := cutFlat(name)
		known, err := p.list(table)
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
			return p.errorf("%s is %s; allowed: a mapping", shorten(name), kindOf(t))
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

// cutFlat splits the name of an entry in flat form; tables of the application
// database have a colon there.
func cutFlat(name string) (table, key string, flat bool) {
	if table, key, flat = strings.Cut(name, "|"); flat {
		return strings.TrimSpace(table), key, true
	}
	if key, flat = strings.CutPrefix(name, lldpTable+":"); flat {
		return lldpTable, key, true
	}
	return name, "", false
}

// list notes a table, and tells whether it is one that is understood.
func (p *parser) list(table string) (known bool, err error) {
	if _, seen := p.rows[table]; !seen {
		if len(p.names) == mostTables {
			return false, p.errorf("there are more than %d tables; allowed: those of one switch", mostTables)
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
		t, err := p.token()
		if err != nil {
			return err
		}
		if t != json.Delim('{') {
			return p.errorf("%s: %s is %s; allowed: a mapping of fields", name, shorten(key), kindOf(t))
		}
		if err := p.entry(name, key); err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

func (p *parser) entry(table, key string) error {
	if most := readers[table].most; len(p.rows[table]) == most {
		return p.errorf("%s has more than %d entries; allowed: those of one switch", table, most)
	}
	r := row{key: key}
	for p.d.More() {
		name, err := p.name()
		if err != nil {
			return err
		}
		f := field{name: name, wrong: p.nested()}
		if f.wrong != "" {
			err = p.skip()
		} else {
			var t json.Token
			if t, err = p.token(); err == nil {
				if s, ok := t.(string); ok {
					f.value = strings.Map(printable, s)
				} else {
					f.wrong = kindOf(t)
				}
			}
		}
		if err != nil {
			return err
		}
		if len(r.fields) == mostFields {
			return p.errorf("%s: %s has more than %d fields; allowed: those of one switch", table, shorten(key), mostFields)
		}
		r.fields = append(r.fields, f)
	}
	p.rows[table] = append(p.rows[table], r)
	_, err := p.token()
	return err
}

// printable makes blanks of characters that would write over a message or a scenario.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// nested tells what begins next if it is no single value; empty: it is one.
func (p *parser) nested() string {
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
		return "", p.errorf("%s is no name; allowed: text", kindOf(t))
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", p.errorf("a name has a control character: %q; allowed: printable text", shorten(s))
	}
	if len(s) > mostName {
		return "", p.errorf("a name has %d bytes; allowed: up to %d", len(s), mostName)
	}
	return s, nil
}

// skip passes over the next value, whatever it is.
func (p *parser) skip() error {
	var v unread
	return p.explain(p.d.Decode(&v))
}

// unread is a value of which only the end is looked for.
type unread struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (unread) UnmarshalJSON([]byte) error { return nil }

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
		return "true or false"
	case string:
		return "text"
	}
	return "null"
}
