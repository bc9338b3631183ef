package sonic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// LookupName is how the file is called that lies beside a configuration.
const LookupName = "pg_profile_lookup.ini"

// Lookup is a table of headroom by speed and cable (pg_profile_lookup.ini).
type Lookup struct {
	File string
	Rows []LookupRow
}

// LookupRow is a row of it.
type LookupRow struct {
	Speed     units.Rate
	Cable     string
	Size      units.Bytes
	Xon, Xoff units.Bytes
	Threshold int64
	XonOffset units.Bytes
}

// ParseLookup reads the table: speed, cable, size, xon, xoff, threshold and, in
// newer files, xon_offset. Lines that begin with # are comments.
func ParseLookup(file, text string) (*Lookup, error) {
	l := &Lookup{File: file}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if len(l.Rows) == mostRows {
			return nil, errorf(file, "line %d: there are more than %d rows", n, mostRows)
		}
		words := strings.Fields(line)
		bad := func(format string, args ...any) error {
			return errorf(file, "line %d: %s", n, fmt.Sprintf(format, args...))
		}
		if len(words) != 6 && len(words) != 7 {
			return nil, bad("%d columns; allowed: 6 or 7, speed cable size xon xoff threshold [xon_offset]", len(words))
		}
		var numbers [7]int64
		for i, word := range words {
			if i == 1 {
				continue
			}
			v, err := strconv.ParseInt(word, 10, 64)
			if err != nil || v > largest || v < 0 && i != 5 || v < -largest {
				return nil, bad("%q is no number; allowed: whole numbers in all columns but the second", shorten(word))
			}
			numbers[i] = v
		}
		if metres, ok := strings.CutSuffix(words[1], "m"); !ok || strings.Trim(metres, "0123456789") != "" || metres == "" {
			return nil, bad("%q is no length of a cable; allowed: metres, such as 300m", shorten(words[1]))
		}
		if numbers[0] < 1 || numbers[0] > fastest {
			return nil, bad("%q is no speed; allowed: 1 to %d Mb/s", words[0], int64(fastest))
		}
		l.Rows = append(l.Rows, LookupRow{
			units.Rate(numbers[0]) * units.Mbps, words[1], units.Bytes(numbers[2]), units.Bytes(numbers[3]), units.Bytes(numbers[4]), numbers[5], units.Bytes(numbers[6]),
		})
	}
	return l, nil
}

// Find returns the row of a speed and a cable; there is no interpolation, and the
// text of the cable must be the same. A nil table has no rows.
func (l *Lookup) Find(speed units.Rate, cable string) (LookupRow, bool) {
	if l == nil {
		return LookupRow{}, false
	}
	for _, r := range l.Rows {
		if r.Speed == speed && r.Cable == cable {
			return r, true
		}
	}
	return LookupRow{}, false
}
