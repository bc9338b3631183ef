// Package experiments holds figures of papers as data: what is run, what is
// measured, and what the paper says about it. A folder is a paper, a file in it a
// figure; docs/reproduce.md describes the format.
package experiments

import "embed"

// Files are PAPER/paper.yaml and PAPER/FIGURE.yaml.
//
//go:embed */*.yaml
var Files embed.FS
