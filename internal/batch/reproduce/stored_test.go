package reproduce

import "testing"

// What the documents say of stored results is what the experiments assert: a claim
// that does not come out has its deviation, and every claim has a verdict at some
// scale. An experiment without any results was not run; nothing is known of its claims.
func TestStoredVerdicts(t *testing.T) {
	list, err := Built()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		verdicts, ran := make(map[string]int), false
		for _, scale := range []string{Quick, Full} {
			r, err := e.stored("../../../docs/reproduction/data", scale)
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				continue
			}
			ran = true
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
			if ran && verdicts[c.ID] == 0 {
				t.Errorf("%s: %s has no verdict", e.ID, c.ID)
			}
		}
	}
}
