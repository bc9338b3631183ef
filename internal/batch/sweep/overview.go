package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Overview describes a sweep without its metrics.
type Overview struct {
	Scenario string
	Keys     []string // varied keys
	Seeds    int
	Points   int
	Done     int // points with results
	Failed   int // finished points with a verdict other than success
	First    string
}

// IsSweep reports whether a folder has the results of a sweep, complete or not.
func IsSweep(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, manifestFile))
	return err == nil
}

// ReadOverview reads the manifest and the verdicts of the sweep in a folder. First is the first
// verdict other than success.
func ReadOverview(folder string) (*Overview, error) {
	var m Manifest
	if err := readJSON(filepath.Join(folder, manifestFile), &m); err != nil {
		return nil, err
	}
	if m.Schema != SchemaVersion {
		return nil, fmt.Errorf("%s has a sweep of schema %d (expected %d); fix: run the sweep again", folder, m.Schema, SchemaVersion)
	}
	o := &Overview{Scenario: m.Scenario, Seeds: len(m.Seeds), Points: len(m.Points)}
	for _, a := range m.Axes {
		o.Keys = append(o.Keys, a.Key)
	}
	for _, p := range m.Points {
		var record pointRecord
		err := readJSON(filepath.Join(folder, pointsFolder, filepath.Base(p.Folder), pointFile), &record)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		o.Done++
		if record.Verdict.Code != 0 {
			if o.Failed++; o.Failed == 1 {
				o.First = fmt.Sprintf("seed %d: %s", p.Seed, record.Verdict.Message)
			}
		}
	}
	return o, nil
}
