package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
)

// Missing lists the points of a plan that have not been computed.
type Missing struct {
	Points []*Point
	Tasks  []int // tasks of the points, sorted, without duplicates
}

// Collect reads the rows of all points of a plan. A point without results has the verdict
// in the records of tasks, or else is missing. Records are from all folders that tasks
// wrote to.
func (s *Store) Collect(p *Plan, points []*Point, records []TaskRecord) ([]Row, *Missing) {
	failed := make(map[string]FailedPoint)
	for _, r := range records {
		for _, f := range r.Failed {
			failed[f.Folder] = f
		}
	}
	rows, missing := make([]Row, len(points)), &Missing{}
	for i, point := range points {
		row, ok := s.load(point)
		if f, known := failed[point.Folder]; !ok && known {
			row, ok = Row{Point: point, Verdict: run.Verdict{Code: f.Code, Message: f.Message}}, true
		}
		if !ok {
			missing.Points = append(missing.Points, point)
			if t := p.Work[i].Task; !slices.Contains(missing.Tasks, t) {
				missing.Tasks = append(missing.Tasks, t)
			}
			continue
		}
		rows[i] = row
	}
	slices.Sort(missing.Tasks)
	return rows, missing
}

// Err returns an error that names the tasks to run. Points and tasks are the totals of the
// plan.
func (m *Missing) Err(points, tasks int) error {
	var list []string
	for _, t := range m.Tasks {
		list = append(list, strconv.Itoa(t))
	}
	return fmt.Errorf("%d of %d points are missing, the first is %s; fix: run --shard I/%d for I = %s (sbatch --array=%s array.sbatch)",
		len(m.Points), points, m.Points[0].Label, tasks, strings.Join(list, ", "), strings.Join(list, ","))
}

// CommonPlan returns the plan of the tasks that wrote to folders, nil if there is none, and
// their records. Folders of different plans are an error.
func CommonPlan(folders []string) (*Plan, []TaskRecord, error) {
	var plan *Plan
	var records []TaskRecord
	first := ""
	for i, f := range folders {
		p, err := ReadFolderPlan(f)
		if err != nil {
			return nil, nil, err
		}
		list, err := ReadTasks(f)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, list...)
		switch {
		case p == nil && len(list) == 0:
			return nil, nil, fmt.Errorf("%s contains no tasks (expected a folder of xoff sweep --shard or xoff reproduce --shard)", f)
		case i == 0:
			plan, first = p, f
		case !SamePlan(plan, p):
			return nil, nil, fmt.Errorf("%s and %s belong to different sweeps (expected folders of the same plan)", first, f)
		}
	}
	return plan, records, nil
}

// JoinFolders copies the finished points of folders without a plan into one folder.
func JoinFolders(folders []string, into string) error {
	store := Store{Folder: into}
	if err := store.Lock(); err != nil {
		return err
	}
	defer store.Close()
	for _, f := range folders {
		if f != into {
			if err := store.Join(f, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadyPlan returns all points of a plan, ready for Collect. It builds only points whose
// scenario has expectations.
func (r *Runner) ReadyPlan(ctx context.Context, p *Plan) ([]*Point, error) {
	points, err := p.Points(nil)
	if err != nil {
		return nil, err
	}
	var expecting []*Point
	for _, q := range points {
		if len(q.Config.Expect) > 0 {
			expecting = append(expecting, q)
		}
	}
	return points, r.readyAsPlanned(ctx, expecting, p.Sweep.Options)
}

// ReadyTask returns the points of a task, ready to run.
func (r *Runner) ReadyTask(ctx context.Context, p *Plan, s Shard) ([]*Point, error) {
	points, err := p.Points(&s)
	if err != nil {
		return nil, err
	}
	return points, r.readyAsPlanned(ctx, points, p.Sweep.Options)
}

func (r *Runner) readyAsPlanned(ctx context.Context, points []*Point, options string) error {
	planned := make([]Key, len(points))
	for i, p := range points {
		planned[i] = p.Key
	}
	if _, err := r.Ready(ctx, points, options); err != nil {
		return err
	}
	return checkKeys(points, planned)
}

// Join copies finished points from another folder unless they exist. With a list of points
// it copies only results with their keys.
func (s *Store) Join(from string, points []*Point) error {
	if points != nil {
		other := Store{Folder: from}
		for _, p := range points {
			if _, ok := s.load(p); ok {
				continue
			}
			if _, ok := other.load(p); ok {
				if err := s.take(other.Path(p), func(temp string) error { return s.place(p, temp) }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	names, err := pointNames(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(s.Folder, pointsFolder, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := s.take(filepath.Join(from, pointsFolder, name), func(temp string) error { return os.Rename(temp, path) }); err != nil {
			return err
		}
	}
	return nil
}

// take copies the folder of a point to a temporary folder and calls place to rename it.
func (s *Store) take(from string, place func(temp string) error) error {
	temp := disk.Aside(filepath.Join(s.Folder, pointsFolder, filepath.Base(from)))
	err := os.Mkdir(temp, 0o755)
	if err == nil {
		err = copyFiles(from, temp)
	}
	if err == nil {
		err = place(temp)
	}
	if err != nil {
		s.abandon(temp)
	}
	return err
}

// copyFiles copies the regular files of a folder. Results have no subfolders.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		err = disk.Fill(filepath.Join(to, e.Name()), func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// pointNames returns the folder names of finished points.
func pointNames(folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(folder, pointsFolder))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), disk.TempPrefix) {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, pointsFolder, e.Name(), pointFile)); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
