package reproduce

import "testing"

// What the documents say of stored results is what the experiments assert: a claim
// that does not come out has its deviation, and every claim has a verdict at some
// scale.
func TestStoredVerdicts(t *testing.T) {
	list, err := Built()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		verdicts := make(map[string]int)
		for _, scale := range []string{Quick, Full} {
			r, err := e.stored("../../docs/reproduction/data", scale)
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				continue
			}
			for _, j := range e.Judge(r) {
				if j.Surprise() {
					t.Errorf("%s, %s: %s is %s (%s), expected: %s", e.ID, scale, j.ID, j.Verdict, j.Ours, j.Expected)
				}
				if j.Verdict != "" {
					verdicts[j.ID]++
				}
			}
		}
		for _, c := range e.Claims {
			if verdicts[c.ID] == 0 {
				t.Errorf("%s: %s has no verdict", e.ID, c.ID)
			}
		}
	}
}
