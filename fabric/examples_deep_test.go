//go:build deep

package fabric

import "testing"

func TestDeepTogetherInEveryExample(t *testing.T) { together(t, exampleFiles(t), 20) }

func TestDeepResolvedExamples(t *testing.T) { examples(t, true) }
