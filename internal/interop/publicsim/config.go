package publicsim

import (
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Settings is a configuration file of the public simulator.
type Settings struct {
	File     string
	Topology string // paths, relative to the working directory
	Flows    string
	FCT      string // names of the result files
	PFC      string

	Payload    units.Bytes
	BufferMB   int64 // shared pool of every switch, in MiB
	Stop       units.Time
	ErrorRate  float64
	AckEvery   units.Bytes // bytes per ACK, at least
	AckFirst   bool        // ACKs use the control class
	ECN        []Marking   // by link rate
	Marks      bool        // switches mark
	Downs      []Down
	Window     Optional[bool]  // flows have a window
	VarWindow  Optional[bool]  // the window follows the rate
	Mode       Optional[int64] // number of the congestion control
	AlphaEvery units.Time      // this and the following, down to Clamp: DCQCN
	CutEvery   units.Time
	RiseEvery  units.Time
	G          float64
	FastSteps  int64
	AI         units.Rate
	HAI        units.Rate
	MinRate    units.Rate
	Clamp      bool
	Target     float64 // HPCC's eta
	Stages     int64   // HPCC's maxStage

	// Ignored lists the keys that have no effect on results.
	Ignored []string

	lines map[string]int // line of each key
}

// wrong returns an error about the value of a key.
func (s *Settings) wrong(key, format string, args ...any) error {
	return inputError(s.File, max(1, s.lines[key]), 1, fmt.Errorf(key+" "+format, args...))
}

// Optional is a value that a file may omit.
type Optional[T any] struct {
	Value T
	Given bool
}

// Marking has the parameters of RED for links of one rate.
type Marking struct {
	Rate       units.Rate
	Kmin, Kmax units.Bytes
	Pmax       float64
}

// Down is a link that fails.
type Down struct {
	At   units.Time
	A, B int
}

// reader reads the value of one key.
type reader func(s *Settings, t *text, line []word) error

// keys are the supported keys.
var keys = map[string]reader{
	"TOPOLOGY_FILE":          file(func(s *Settings) *string { return &s.Topology }),
	"FLOW_FILE":              file(func(s *Settings) *string { return &s.Flows }),
	"FCT_OUTPUT_FILE":        name(func(s *Settings) *string { return &s.FCT }),
	"PFC_OUTPUT_FILE":        name(func(s *Settings) *string { return &s.PFC }),
	"PACKET_PAYLOAD_SIZE":    number(1, 9000, func(s *Settings, v int64) { s.Payload = units.Bytes(v) }),
	"BUFFER_SIZE":            number(1, 1<<10, func(s *Settings, v int64) { s.BufferMB = v }),
	"SIMULATOR_STOP_TIME":    stop,
	"ERROR_RATE_PER_LINK":    share(func(s *Settings) *float64 { return &s.ErrorRate }),
	"L2_ACK_INTERVAL":        number(1, 1<<20, func(s *Settings, v int64) { s.AckEvery = units.Bytes(v) }),
	"ACK_HIGH_PRIO":          flag(func(s *Settings, v bool) { s.AckFirst = v }),
	"ENABLE_QCN":             flag(func(s *Settings, v bool) { s.Marks = v }),
	"KMIN_MAP":               ecn(func(m *Marking, v float64) { m.Kmin = units.Bytes(v * 1000) }),
	"KMAX_MAP":               ecn(func(m *Marking, v float64) { m.Kmax = units.Bytes(v * 1000) }),
	"PMAX_MAP":               ecn(func(m *Marking, v float64) { m.Pmax = v }),
	"LINK_DOWN":              down,
	"HAS_WIN":                flag(func(s *Settings, v bool) { s.Window = Optional[bool]{v, true} }),
	"VAR_WIN":                flag(func(s *Settings, v bool) { s.VarWindow = Optional[bool]{v, true} }),
	"CC_MODE":                number(0, 10, func(s *Settings, v int64) { s.Mode = Optional[int64]{v, true} }),
	"ALPHA_RESUME_INTERVAL":  micros(func(s *Settings) *units.Time { return &s.AlphaEvery }),
	"RATE_DECREASE_INTERVAL": micros(func(s *Settings) *units.Time { return &s.CutEvery }),
	"RP_TIMER":               micros(func(s *Settings) *units.Time { return &s.RiseEvery }),
	"EWMA_GAIN":              share(func(s *Settings) *float64 { return &s.G }),
	"FAST_RECOVERY_TIMES":    number(1, 1000, func(s *Settings, v int64) { s.FastSteps = v }),
	"RATE_AI":                rate(func(s *Settings) *units.Rate { return &s.AI }),
	"RATE_HAI":               rate(func(s *Settings) *units.Rate { return &s.HAI }),
	"MIN_RATE":               rate(func(s *Settings) *units.Rate { return &s.MinRate }),
	"CLAMP_TARGET_RATE":      flag(func(s *Settings, v bool) { s.Clamp = v }),
	"U_TARGET":               share(func(s *Settings) *float64 { return &s.Target }),
	"MI_THRESH":              number(0, 1000, func(s *Settings, v int64) { s.Stages = v }),

	// Keys with a single supported value.
	"L2_BACK_TO_ZERO":           only("0", "recovery goes back to the missing packet"),
	"INT_MULTI":                 only("1", "telemetry counts plain bytes"),
	"MULTI_RATE":                only("0", "one rate for all hops"),
	"SAMPLE_FEEDBACK":           only("0", "every ACK carries feedback"),
	"RATE_BOUND":                only("1", "flows are paced"),
	"USE_DYNAMIC_PFC_THRESHOLD": only("1", "PFC thresholds are dynamic"),
	"GLOBAL_T":                  only("1", "all flows use the base round trip of the longest path"),
	"FAST_REACT":                only("1", "every ACK sets the rate"),
}

// lists has the keys with more than one value.
var lists = map[string]bool{"KMIN_MAP": true, "KMAX_MAP": true, "PMAX_MAP": true, "LINK_DOWN": true}

// unused has the keys that change no result, with the reason.
var unused = map[string]string{
	"TRACE_FILE":           "monitoring",
	"TRACE_OUTPUT_FILE":    "monitoring",
	"ENABLE_TRACE":         "monitoring",
	"QLEN_MON_FILE":        "monitoring",
	"QLEN_MON_START":       "monitoring",
	"QLEN_MON_END":         "monitoring",
	"NIC_TOTAL_PAUSE_TIME": "monitoring",
	"PAUSE_TIME":           "a pause lasts until it is withdrawn",
	"DATA_RATE":            "every link has its own",
	"LINK_DELAY":           "every link has its own",
	"L2_CHUNK_SIZE":        "recovery does not go back to chunks",
	"DCTCP_RATE_AI":        "rate-based DCTCP is not supported",
	"PINT_LOG_BASE":        "telemetry is not sampled",
	"PINT_PROB":            "telemetry is not sampled",
}

// defaults returns the default settings of the public simulator.
func defaults(path string) *Settings {
	return &Settings{
		File: path, FCT: "fct.txt", PFC: "pfc.txt", Payload: 1000, BufferMB: 16, Stop: 4 * units.Second, AckEvery: 1, Marks: true,
		AlphaEvery: units.Microsecond, CutEvery: 4 * units.Microsecond, RiseEvery: 900 * units.Microsecond, G: 1.0 / 256, FastSteps: 1,
		AI: 50 * units.Mbps, HAI: 100 * units.Mbps, MinRate: 100 * units.Mbps, Target: 0.95, Stages: 5,
	}
}

// ReadSettings reads a configuration file. Each line has a key and its values; paths are
// relative to the file's folder.
func ReadSettings(path string) (*Settings, error) {
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	return parseSettings(t)
}

func parseSettings(t *text) (*Settings, error) {
	s := defaults(t.file)
	seen := make(map[string]int)
	s.lines = seen
	for _, line := range t.lines {
		key := line[0].text
		if at := seen[key]; at != 0 {
			return nil, t.fail(line[0], "%s is repeated: it is already set on line %d", key, at)
		}
		seen[key] = line[0].line
		read, known := keys[key]
		if _, skip := unused[key]; skip {
			s.Ignored = append(s.Ignored, key)
			continue
		}
		if !known {
			return nil, t.fail(line[0], "unknown key %q (allowed: %s)", key, strings.Join(knownKeys(), ", "))
		}
		if len(line) < 2 {
			return nil, t.fail(line[0], "%s has no value", key)
		}
		if len(line) > 2 && !lists[key] {
			return nil, t.fail(line[2], "%s has %d values (expected one)", key, len(line)-1)
		}
		if err := read(s, t, line); err != nil {
			return nil, err
		}
	}
	for _, need := range []string{"TOPOLOGY_FILE", "FLOW_FILE"} {
		if seen[need] == 0 {
			return nil, t.failEnd(need)
		}
	}
	if s.FCT == s.PFC {
		return nil, s.wrong("PFC_OUTPUT_FILE", "is %s, which is also FCT_OUTPUT_FILE (expected a different name)", s.PFC)
	}
	for _, m := range s.ECN {
		if m.Kmin > m.Kmax {
			return nil, s.wrong("KMIN_MAP", "has KMIN %s above KMAX %s for links of %s", m.Kmin, m.Kmax, m.Rate)
		}
	}
	return s, nil
}

func knownKeys() []string {
	var names []string
	for k := range keys {
		names = append(names, k)
	}
	for k := range unused {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

func file(to func(*Settings) *string) reader {
	return func(s *Settings, t *text, line []word) error {
		p := line[1].text
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.Dir(t.file), p)
		}
		*to(s) = p
		return nil
	}
}

// name reads the name of a result file. It is written to the folder of results, so it must
// not collide with other results.
func name(to func(*Settings) *string) reader {
	return func(s *Settings, t *text, line []word) error {
		base := filepath.Base(line[1].text)
		switch filepath.Ext(base) {
		case ".json", ".yaml", ".parquet", ".csv", ".html":
			return t.fail(line[1], "%s is %q, which could overwrite another result (expected a different extension, such as .txt)", line[0].text, line[1].text)
		}
		switch base {
		case ".", "..", string(filepath.Separator):
			return t.fail(line[1], "%s is %q (expected a file name)", line[0].text, line[1].text)
		}
		*to(s) = base
		return nil
	}
}

func number(low, high int64, set func(*Settings, int64)) reader {
	return func(s *Settings, t *text, line []word) error {
		v, err := t.number(line[1], line[0].text, low, high)
		if err == nil {
			set(s, v)
		}
		return err
	}
}

func flag(set func(*Settings, bool)) reader {
	return number(0, 1, func(s *Settings, v int64) { set(s, v == 1) })
}

func share(to func(*Settings) *float64) reader {
	return func(s *Settings, t *text, line []word) (err error) {
		*to(s), err = t.share(line[1], line[0].text)
		return err
	}
}

func rate(to func(*Settings) *units.Rate) reader {
	return func(s *Settings, t *text, line []word) (err error) {
		*to(s), err = t.rate(line[1], line[0].text)
		return err
	}
}

// micros reads microseconds, with an optional fraction.
func micros(to func(*Settings) *units.Time) reader {
	return func(s *Settings, t *text, line []word) error {
		v, err := units.ParseTime(line[1].text + "us")
		if err != nil || v <= 0 {
			return t.fail(line[1], "%s is %q (expected microseconds above 0)", line[0].text, line[1].text)
		}
		*to(s) = v
		return nil
	}
}

func stop(s *Settings, t *text, line []word) error {
	v, err := seconds(line[1].text)
	if err != nil || v == 0 {
		return t.fail(line[1], "%s is %q (expected seconds above 0)", line[0].text, line[1].text)
	}
	s.Stop = v
	return nil
}

// only accepts a single value.
func only(value, why string) reader {
	return func(_ *Settings, t *text, line []word) error {
		if line[1].text != value {
			return t.fail(line[1], "%s is %q (expected %s: %s)", line[0].text, line[1].text, value, why)
		}
		return nil
	}
}

// ecn reads a map from link rates to values: its length, then pairs. KMIN and KMAX are in
// units of 1000 bytes.
func ecn(set func(*Marking, float64)) reader {
	return func(s *Settings, t *text, line []word) error {
		count, err := t.number(line[1], line[0].text, 0, 64)
		if err != nil {
			return err
		}
		if len(line) != 2+2*int(count) {
			return t.fail(line[1], "%s has %d values after its length (expected %d pairs of rate and value)", line[0].text, len(line)-2, count)
		}
		seen := make(map[units.Rate]bool)
		for i := 2; i < len(line); i += 2 {
			r, err := t.rate(line[i], "link rate")
			if err != nil {
				return err
			}
			if seen[r] {
				return t.fail(line[i], "%s has links of %s twice", line[0].text, r)
			}
			seen[r] = true
			v, err := strconv.ParseFloat(line[i+1].text, 64)
			if err != nil || !(v >= 0 && v <= 1e9) {
				return t.fail(line[i+1], "%s is %q (expected a number from 0 to 1e9)", line[0].text, line[i+1].text)
			}
			set(s.marking(r), v)
		}
		return nil
	}
}

// marking returns the parameters for links of a rate.
func (s *Settings) marking(r units.Rate) *Marking {
	for i := range s.ECN {
		if s.ECN[i].Rate == r {
			return &s.ECN[i]
		}
	}
	s.ECN = append(s.ECN, Marking{Rate: r})
	return &s.ECN[len(s.ECN)-1]
}

// failuresFrom is the origin of link failure times in the public simulators, where flows
// usually start.
const failuresFrom = 2 * units.Second

// down reads a link failure: microseconds and two nodes. Time 0 means no failure.
func down(s *Settings, t *text, line []word) error {
	if len(line) != 4 {
		return t.fail(line[0], "%s has %d values (expected 3: microseconds node node)", line[0].text, len(line)-1)
	}
	var v [3]int64
	for i := range v {
		n, err := t.number(line[1+i], line[0].text, 0, 1<<30)
		if err != nil {
			return err
		}
		v[i] = n
	}
	if v[0] > 0 {
		s.Downs = append(s.Downs, Down{failuresFrom + units.Time(v[0])*units.Microsecond, int(v[1]), int(v[2])})
	}
	return nil
}
