package mutant

import "testing"

// A function with mutants begins with a switch to copies of itself. Parameters without names get
// some.
func TestMutated(t *testing.T) {
	const text = `package a

// Do does.
func (T[K]) Do(_ int, more ...string) (n int) { one(); return 2 }

func plain(int) { one() }
`
	s := sources{"a/x.go": text}
	var list []mutation
	for _, m := range []mutation{{function: "T.Do", right: "one()", wrong: "two()"}, {function: "plain", right: "one()", wrong: ""}, {function: "T.Do", right: "2", wrong: "3"}} {
		var err error
		if m.at, err = s.find(m.function, m.right); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	got, name, err := mutated("a/x.go", list)
	const want = `package a

// Do does.
func (argument1 T[K]) Do(argument2 int, more ...string) (n int) {
switch chosenMutant {
case 1: return argument1.DoMutant1(argument2, more...)
case 3: return argument1.DoMutant3(argument2, more...)
}
 one(); return 2 }

func plain(argument1 int) {
switch chosenMutant {
case 2: plainMutant2(argument1); return
}
 one() }

func (argument1 T[K]) DoMutant1(argument2 int, more ...string) (n int) { two(); return 2 }

func (argument1 T[K]) DoMutant3(argument2 int, more ...string) (n int) { one(); return 3 }

func plainMutant2(argument1 int) {  }
`
	if err != nil || name != "a" || got != want {
		t.Errorf("package %s, %v:\n%s", name, err, got)
	}
}
