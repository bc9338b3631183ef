package publicsim

import (
	"context"
	"errors"
	"fmt"

	"github.com/xoff-net/xoff/run"
)

// Comparison is a case to run on an engine, with its tolerance.
type Comparison struct {
	Case   *Case
	Engine run.Engine
	Tol    Tolerance
}

// OpenFolders reads several reference folders; see OpenFolder.
func OpenFolders(folders []string) ([]*Case, error) {
	var cases []*Case
	for _, folder := range folders {
		list, err := OpenFolder(folder)
		if err != nil {
			return nil, err
		}
		cases = append(cases, list...)
	}
	return cases, nil
}

// Comparisons lists every case on every engine.
func Comparisons(cases []*Case, engines []run.Engine) ([]Comparison, error) {
	tolerances, err := Tolerances()
	if err != nil {
		return nil, err
	}
	var list []Comparison
	for _, c := range cases {
		for _, e := range engines {
			list = append(list, Comparison{c, e, tolerances[c.Algorithm][e]})
		}
	}
	return list, nil
}

// CompareAll runs comparisons on several workers and returns the results in order. It calls
// progress with the number of finished comparisons.
func CompareAll(ctx context.Context, list []Comparison, workers int, progress func(done int)) ([]*Fidelity, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, errs := make([]*Fidelity, len(list)), make([]error, len(list))
	next, done := make(chan int), make(chan int)
	for range min(len(list), workers) {
		go func() {
			for i := range next {
				if rows[i], errs[i] = list[i].Case.Compare(ctx, list[i].Engine, list[i].Tol); errs[i] != nil {
					cancel() // stop the other comparisons
				}
				done <- i
			}
		}()
	}
	go func() {
		for i := range list {
			next <- i
		}
		close(next)
	}()
	for n := range list {
		progress(n)
		<-done
	}
	// Report the first failure rather than the cancellations it caused.
	var first error
	for i, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = fmt.Errorf("%s/%s: %w", list[i].Case.Folder, list[i].Case.Algorithm, err)
		}
	}
	return rows, first
}
