package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// SchemaVersion is the version of manifest.json, point.json and sweep.json.
const SchemaVersion = 1

// Names in the folder of a sweep and of a point.
const (
	manifestFile = run.SweepFile
	pointFile    = "point.json"
	summaryFile  = "summary.json"
	pointsFolder = "points"
)

// Store is the folder of a sweep. It contains a point completely or not at all.
type Store struct {
	Folder string
	lock   io.Closer // nil when not locked
	shared bool      // other processes, perhaps on other machines, write too: nothing is locked
}

// ErrExists means that the folder already contains a sweep.
var ErrExists = errors.New("already contains a sweep")

// Manifest lists the points of a sweep. It does not mention machine or time, so that an
// interrupted sweep leaves the same bytes.
type Manifest struct {
	Schema     int             `json:"schema"`
	Scenario   string          `json:"scenario"`
	Base       string          `json:"base_sha256"` // hash of the base scenario; "" in older manifests
	Axes       []Axis          `json:"axes"`
	Seeds      []uint64        `json:"seeds"`
	Executable string          `json:"executable_sha256"`
	Options    string          `json:"options"`
	Points     []ManifestPoint `json:"points"`
}

// ManifestPoint is a point of a manifest.
type ManifestPoint struct {
	Values   []string `json:"values"` // one per axis
	Seed     uint64   `json:"seed"`
	Folder   string   `json:"folder"`
	Scenario string   `json:"scenario_sha256"`
}

// pointRecord is point.json: the key of a point's results and the verdict of its run.
type pointRecord struct {
	Schema int `json:"schema"`
	Key
	Verdict run.Verdict `json:"verdict"`
	Seconds float64     `json:"core_seconds,omitempty"` // see Runner.Timed
}

// Row is the outcome of a point. Its metrics stay on disk to save memory.
type Row struct {
	Point   *Point
	Results bool // the point has results
	Verdict run.Verdict
	Seconds float64 // core seconds; 0: unknown, see Runner.Timed
}

// Opening selects what Open does with existing results.
type Opening struct {
	Resume bool // continue a sweep of the same scenario
	Force  bool // overwrite anything
	Keep   bool // do not replace a sweep with points that this one does not have
}

// Open prepares the folder for the points of a grid and locks it until Close. If the folder
// has results of another scenario, the store moves to NAME-2, NAME-3 and so on, unless
// forced. A sweep of the same scenario is opened only to resume it: its finished points
// are reused if their keys match, whatever its grid was.
func (s *Store) Open(g *Grid, points []*Point, o Opening) error {
	m, err := newManifest(g, points)
	if err != nil {
		return err
	}
	if err := s.move(m, o); err != nil {
		return err
	}
	return s.json(manifestFile, m)
}

// List replaces the list of points of an open folder.
func (s *Store) List(g *Grid, points []*Point) error {
	m, err := newManifest(g, points)
	if err != nil {
		return err
	}
	return s.json(manifestFile, m)
}

func newManifest(g *Grid, points []*Point) (*Manifest, error) {
	m := &Manifest{Schema: SchemaVersion, Axes: append([]Axis{}, g.Axes...), Seeds: append([]uint64{}, g.Seeds...)}
	base, err := g.hash()
	if err != nil {
		return nil, err
	}
	m.Base = base
	for _, p := range points {
		m.Scenario, m.Executable, m.Options = p.Config.Name, p.Key.Executable, p.Key.Options
		m.Points = append(m.Points, ManifestPoint{Values: append([]string{}, p.Values...), Seed: p.Seed, Folder: p.Folder,
			Scenario: p.Key.Scenario})
	}
	return m, nil
}

// move locks the folder, or the first numbered one without results of other scenarios.
func (s *Store) move(m *Manifest, o Opening) error {
	name := s.Folder
	for n := 1; ; n++ {
		s.Folder = disk.Numbered(name, n)
		exists, foreign := s.contents(m, o.Keep)
		switch {
		case foreign && !o.Force:
			continue
		case exists && !o.Resume && !o.Force:
			return fmt.Errorf("%s %w; fix: continue it with --resume, overwrite it with --force, or choose another folder with -o", s.Folder, ErrExists)
		}
		if err := s.Lock(); err != nil {
			return err
		}
		// Check again, now that no other process can write there.
		if now, foreign := s.contents(m, o.Keep); o.Force || now == exists && !foreign {
			return nil
		}
		s.Close()
		n--
	}
}

// contents reports whether the folder contains a sweep, and whether it contains results of
// another scenario. With keep, points that m does not have are foreign too.
func (s *Store) contents(m *Manifest, keep bool) (exists, foreign bool) {
	if _, err := os.Stat(filepath.Join(s.Folder, summaryFile)); err == nil {
		return false, true
	}
	if _, err := os.Stat(filepath.Join(s.Folder, manifestFile)); err != nil {
		return false, false
	}
	var old Manifest
	if err := readJSON(filepath.Join(s.Folder, manifestFile), &old); err != nil {
		return true, true
	}
	if keep && !m.has(old.Points) {
		return true, true
	}
	if old.Base != "" {
		return true, old.Base != m.Base
	}
	for _, p := range old.Points {
		if slices.ContainsFunc(m.Points, func(q ManifestPoint) bool { return q.Scenario == p.Scenario }) {
			return true, false
		}
	}
	return true, true
}

// has reports whether the manifest has all given points, apart from the versions of scenarios.
func (m *Manifest) has(points []ManifestPoint) bool {
	key := func(p *ManifestPoint) string { return fmt.Sprintln(p.Seed, strings.Join(p.Values, "\x00")) }
	mine := make(map[string]bool)
	for i := range m.Points {
		mine[key(&m.Points[i])] = true
	}
	for i := range points {
		if !mine[key(&points[i])] {
			return false
		}
	}
	return true
}

// Lock prepares the folder for points and locks it until Close. A store without a manifest
// contains points of several grids.
func (s *Store) Lock() error {
	below := filepath.Join(s.Folder, pointsFolder)
	if err := disk.Prepare(below); err != nil {
		return err
	}
	lock, err := disk.Lock(s.Folder)
	if err != nil {
		return err
	}
	s.lock = lock
	return s.removeTemps(func(name string) bool { return !disk.IsAside(name) })
}

// Close unlocks the folder.
func (s *Store) Close() {
	if s.lock != nil {
		_ = s.lock.Close()
		s.lock = nil
	}
}

// removeTemps removes the chosen temporary files and folders that killed processes left.
func (s *Store) removeTemps(chosen func(name string) bool) error {
	for _, folder := range []string{s.Folder, filepath.Join(s.Folder, pointsFolder)} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), disk.TempPrefix) && chosen(e.Name()) {
				if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Store) json(name string, v any) error {
	return s.file(name, func(w io.Writer) error { return encode(w, v) })
}

func (s *Store) file(name string, write func(io.Writer) error) error {
	return disk.WriteFile(filepath.Join(s.Folder, name), write)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Path returns the folder of a point's results.
func (s *Store) Path(p *Point) string { return filepath.Join(s.Folder, pointsFolder, p.Folder) }

// begin creates the temporary folder for the results of a point.
func (s *Store) begin(p *Point) (string, error) {
	if s.shared {
		temp := disk.Aside(s.Path(p))
		return temp, os.Mkdir(temp, 0o755)
	}
	temp := filepath.Join(s.Folder, pointsFolder, disk.TempPrefix+p.Folder)
	return temp, errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o755))
}

func (s *Store) abandon(temp string) { _ = os.RemoveAll(temp) }

// commit writes the record of a finished point and moves its folder into place.
func (s *Store) commit(p *Point, temp string, v run.Verdict, seconds float64) (Row, error) {
	record := pointRecord{Schema: SchemaVersion, Key: p.Key, Verdict: v, Seconds: seconds}
	err := disk.WriteFile(filepath.Join(temp, pointFile), func(w io.Writer) error { return encode(w, &record) })
	if err == nil {
		err = s.place(p, temp)
	}
	if err != nil {
		s.abandon(temp)
		return Row{}, &run.WriteError{Err: err}
	}
	disk.Sync(filepath.Dir(s.Path(p)))
	// Read back, so that computed and reused rows are equal.
	row, ok := s.load(p)
	if !ok {
		return Row{}, &run.WriteError{Err: fmt.Errorf("%s: the results cannot be read back", s.Path(p))}
	}
	return row, nil
}

// place moves the folder of a finished point to its path and replaces outdated results. If
// another process has finished the same point, its results stay.
func (s *Store) place(p *Point, temp string) error {
	path := s.Path(p)
	for {
		err := disk.Rename(temp, path)
		if err == nil {
			return nil
		}
		if _, missing := os.Lstat(path); missing != nil {
			return err
		}
		if row, ok := s.load(p); ok && !row.Verdict.Aborted {
			return os.RemoveAll(temp)
		}
		old := disk.Aside(path)
		if err := disk.Rename(path, old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
}

// load returns the row of a point if it has results with an equal key.
func (s *Store) load(p *Point) (Row, bool) {
	var record pointRecord
	if s.record(p.Folder, &record) != nil || record.Key != p.Key {
		return Row{}, false
	}
	summary, err := metrics.ReadSummary(s.Path(p))
	if err != nil {
		return Row{}, false
	}
	verdict := record.Verdict.WithExpectations(run.Judge(p.expect, summary))
	return Row{Point: p, Results: true, Verdict: verdict, Seconds: record.Seconds}, true
}

// record reads point.json in the folder of a point.
func (s *Store) record(folder string, r *pointRecord) error {
	path := filepath.Join(s.Folder, pointsFolder, folder, pointFile)
	if err := readJSON(path, r); err != nil {
		return err
	}
	if r.Schema != SchemaVersion {
		return fmt.Errorf("%s has schema %d (expected %d)", path, r.Schema, SchemaVersion)
	}
	return nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
