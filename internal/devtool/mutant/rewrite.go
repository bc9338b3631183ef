package mutant

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// variable is the environment variable with the number of the mutant that runs; 0: none.
const variable = "XOFF_MUTANT"

// chosen is the rest of the file that every package with mutants gets.
const chosen = `

import (
	"os"
	"strconv"
)

var chosenMutant = func() int {
	n, _ := strconv.Atoi(os.Getenv("` + variable + `"))
	return n
}()
`

// edit replaces a part of a text.
type edit struct {
	from, to int
	by       string
}

// apply applies edits that do not overlap. Their offsets count from the start of the original
// text, which has the offset shift.
func apply(text string, shift int, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		text = text[:e.from-shift] + e.by + text[e.to-shift:]
	}
	return text
}

// mutated returns the text of a file in which each function with mutants begins with a switch to
// copies of itself, and the name of the package.
func mutated(file string, list []mutation) (text, name string, err error) {
	for _, m := range list {
		if m.at.file == file {
			text = m.at.text
		}
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	var edits []edit
	copies := ""
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := offset(f.Pos()), offset(f.End())
		naming, call := signature(f, offset)
		cases := ""
		for i, m := range list {
			if m.at.file != file || m.at.at < from || m.at.at >= to {
				continue
			}
			own := fmt.Sprintf("%sMutant%d", f.Name.Name, i+1)
			copies += "\n" + apply(text[from:to], from, append(slices.Clone(naming),
				edit{offset(f.Name.Pos()), offset(f.Name.End()), own},
				edit{m.at.at, m.at.at + len(m.right), m.wrong})) + "\n"
			jump := fmt.Sprintf(call, own)
			if f.Type.Results != nil {
				jump = "return " + jump
			} else {
				jump += "; return"
			}
			cases += fmt.Sprintf("case %d: %s\n", i+1, jump)
		}
		if cases != "" {
			at := offset(f.Body.Lbrace) + 1
			edits = append(edits, naming...)
			edits = append(edits, edit{at, at, "\nswitch chosenMutant {\n" + cases + "}\n"})
		}
	}
	return apply(text, 0, edits) + copies, parsed.Name.Name, nil
}

// signature returns edits that give names to unnamed parameters and receivers, and the call that
// passes all arguments on, with %s for the name of the function.
func signature(f *ast.FuncDecl, offset func(token.Pos) int) (naming []edit, call string) {
	n := 0
	named := func(field *ast.Field) (names []string) {
		fresh := func(from, to token.Pos, after string) {
			n++
			names = append(names, fmt.Sprintf("argument%d", n))
			naming = append(naming, edit{offset(from), offset(to), names[len(names)-1] + after})
		}
		if len(field.Names) == 0 {
			fresh(field.Type.Pos(), field.Type.Pos(), " ")
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				fresh(name.Pos(), name.End(), "")
			} else {
				names = append(names, name.Name)
			}
		}
		return names
	}
	if f.Recv != nil {
		call = named(f.Recv.List[0])[0] + "."
	}
	var arguments []string
	for _, field := range f.Type.Params.List {
		arguments = append(arguments, named(field)...)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			arguments[len(arguments)-1] += "..."
		}
	}
	return naming, call + "%s(" + strings.Join(arguments, ", ") + ")"
}
