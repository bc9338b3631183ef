package reproduce

import "testing"

// Verdicts of stored results are the expected ones: a claim that is not reproduced has a
// deviation, with a cause if it is a headline claim, and every claim has a verdict at some
// scale. Experiments without results are skipped.
func TestStoredVerdicts(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		verdicts, ran := make(map[string]int), make(map[string]bool)
		for _, scale := range []string{Quick, Full} {
			r, err := e.stored("../../../docs/reproduction/data", scale)
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				continue
			}
			ran[scale] = true
			for _, j := range e.Judge(r) {
				if j.Surprise() {
					t.Errorf("%s, %s: %s is %s (%s), want %s", e.ID, scale, j.ID, j.Verdict, j.Ours, j.Expected)
				}
				if d := j.Deviation; d != nil && j.Kind == kindHeadline && !j.Verdict.Reproduced() && d.Cause == "" {
					t.Errorf("%s, %s: %s is %s, and its deviation has no cause", e.ID, scale, j.ID, j.Verdict)
				}
				if j.Verdict != "" {
					verdicts[j.ID]++
				}
			}
		}
		for _, c := range e.Claims {
			if len(ran) > 0 && verdicts[c.ID] == 0 {
				t.Errorf("%s: %s has no verdict", e.ID, c.ID)
			}
		}
		for _, d := range e.Deviations {
			if d.Scale != "" && !ran[d.Scale] {
				t.Errorf("%s: the deviation of %s at scale %s has no stored runs", e.ID, d.Claim, d.Scale)
			}
		}
	}
}
