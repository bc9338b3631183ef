// Package experiments embeds the figures of papers that `xoff reproduce` runs: scenarios,
// metrics and claims. A folder is a paper and a file in it a figure; docs/reproduce.md
// describes the format.
package experiments

import "embed"

// Files contains PAPER/paper.yaml, PAPER/FIGURE.yaml and PAPER/scenarios.
//
//go:embed */*.yaml */scenarios/*.yaml
var Files embed.FS
