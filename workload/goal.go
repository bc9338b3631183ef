package workload

import (
	"io"
	"os"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
)

// Goal runs the job of a GOAL file.
type Goal struct {
	Path       string      `yaml:"path" doc:"GOAL file, text or binary"`
	Placement  string      `yaml:"placement" doc:"GPUs of the ranks: packed, spread, random, or numbers such as 0-7 16"`
	Rendezvous units.Bytes `yaml:"rendezvous,omitempty" doc:"a send from this size on is complete when its recv has taken the message, as a message of 1B tells its rank; 0B: none"`
	Eager      units.Bytes `yaml:"eager,omitempty" doc:"a send up to this size is complete for its rank as soon as it starts, others when acknowledged"`
}

var jobUses = Uses{From: true, Start: true}

// Uses implements Generator.
func (g *Goal) Uses() Uses { return jobUses }

// File implements FileUser.
func (g *Goal) File() *string { return &g.Path }

// with opens the file for a function.
func (g *Goal) with(e *Env, use func(f *goal.File) error) error {
	if g.Path == "" {
		return keyf("path", "no file is given (expected a GOAL file)")
	}
	in, err := e.Open(g.Path)
	if err != nil {
		return &KeyError{"path", err}
	}
	defer func() { _ = in.Close() }() // nothing was written
	file, ok := in.(interface {
		io.ReaderAt
		Stat() (os.FileInfo, error)
	})
	if !ok {
		return keyf("path", "%s has no size (expected a regular file)", g.Path)
	}
	info, err := file.Stat()
	if err != nil {
		return &KeyError{"path", err}
	}
	f, err := goal.New(g.Path, file, info.Size())
	if err != nil {
		return &KeyError{"path", err}
	}
	return use(f)
}

// Place implements Placer.
func (g *Goal) Place(e *Env, free []int32) (list []int32, err error) {
	err = g.with(e, func(f *goal.File) error {
		list, err = e.place(g.Placement, f.Ranks(), free)
		return err
	})
	return list, err
}

// Check implements Generator.
func (g *Goal) Check(e *Env) (flows float64, err error) {
	if g.Eager < 0 || g.Eager > e.MaxSize {
		return 0, keyf("eager", "%s is out of range (expected 0B to %s)", g.Eager, e.MaxSize)
	}
	if g.Rendezvous < 0 || g.Rendezvous > e.MaxSize || g.Rendezvous > 0 && g.Rendezvous <= g.Eager {
		return 0, keyf("rendezvous", "%s is out of range (expected 0B, or more than eager, %s, to %s)", g.Rendezvous, g.Eager, e.MaxSize)
	}
	err = g.with(e, func(f *goal.File) error {
		if flows = jobFlows(float64(f.Ops)); g.Rendezvous > 0 {
			flows *= 2
		}
		return nil
	})
	return flows, err
}

// Generate implements Generator.
func (g *Goal) Generate(e *Env) (p *Plan, err error) {
	err = g.with(e, func(f *goal.File) error {
		if p, err = e.job(f, jobOptions{eager: g.Eager, rendezvous: g.Rendezvous}); err != nil {
			return &KeyError{"path", err}
		}
		return nil
	})
	return p, err
}
