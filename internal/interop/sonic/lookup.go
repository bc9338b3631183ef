package sonic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// LookupName is the name of the lookup file next to a configuration.
const LookupName = "pg_profile_lookup.ini"

// Lookup is a lookup file (pg_profile_lookup.ini): headroom by speed and cable.
type Lookup struct {
	File string
	Rows []LookupRow
}

// LookupRow is a row of a lookup file.
type LookupRow struct {
	Speed     units.Rate
	Cable     string
	Size      units.Bytes
	Xon, Xoff units.Bytes
	Threshold int64
	XonOffset units.Bytes
}

// ParseLookup parses a lookup file. Columns are speed, cable, size, xon, xoff, threshold
// and, in newer files, xon_offset. Lines that begin with # are comments.
func ParseLookup(file, text string) (*Lookup, error) {
	l := &Lookup{File: file}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if len(l.Rows) == maxRows {
			return nil, errorf(file, "line %d: more than %d rows", n, maxRows)
		}
		words := strings.Fields(line)
		bad := func(format string, args ...any) error {
			return errorf(file, "line %d: %s", n, fmt.Sprintf(format, args...))
		}
		if len(words) != 6 && len(words) != 7 {
			return nil, bad("%d columns (expected 6 or 7: speed cable size xon xoff threshold [xon_offset])", len(words))
		}
		var numbers [7]int64
		for i, word := range words {
			if i == 1 {
				continue
			}
			v, err := strconv.ParseInt(word, 10, 64)
			if err != nil || v > maxNumber || v < 0 && i != 5 || v < -maxNumber {
				return nil, bad("%q is not a number (expected whole numbers in all columns but the second)", shorten(word))
			}
			numbers[i] = v
		}
		if metres, ok := strings.CutSuffix(words[1], "m"); !ok || strings.Trim(metres, "0123456789") != "" || metres == "" {
			return nil, bad("%q is not a cable length (expected metres, such as 300m)", shorten(words[1]))
		}
		if numbers[0] < 1 || numbers[0] > maxMbps {
			return nil, bad("speed %q is out of range (expected 1 to %d Mb/s)", words[0], int64(maxMbps))
		}
		l.Rows = append(l.Rows, LookupRow{
			units.Rate(numbers[0]) * units.Mbps, words[1], units.Bytes(numbers[2]), units.Bytes(numbers[3]), units.Bytes(numbers[4]), numbers[5], units.Bytes(numbers[6]),
		})
	}
	return l, nil
}

// Find returns the row for a speed and a cable. The text of the cable must be equal;
// nothing is interpolated. A nil Lookup has no rows.
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
