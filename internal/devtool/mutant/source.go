package mutant

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// sources maps absolute paths to the text of Go files; tests are left out.
type sources map[string]string

// moduleSources returns the files of the module that contains the working directory. It
// reads them once.
var moduleSources = sync.OnceValue(func() sources {
	root, err := filepath.Abs(".")
	if err != nil {
		panic(err)
	}
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			panic("no go.mod in the working directory or above it")
		}
		root = filepath.Dir(root)
	}
	files := sources{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || exists(filepath.Join(path, "go.mod"))):
			return fs.SkipDir // another module
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		panic(err)
	}
	return files
})

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// function is the declaration of a function: byte offsets, including the line break after
// it, and the number of its first line.
type function struct{ from, to, line int }

// functionsOf returns the functions called Name, or the methods called T.Name, of a file. It
// parses only files that contain the words.
func functionsOf(file, text, name string) []function {
	typeName, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		typeName, method = "", name
	}
	if !strings.Contains(text, " "+method+"(") && !strings.Contains(text, " "+method+"[") || !strings.Contains(text, typeName) {
		return nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	var list []function
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != method || receiver(f) != typeName {
			continue
		}
		from := set.Position(f.Pos())
		list = append(list, function{from.Offset, min(len(text), set.Position(f.End()).Offset+1), from.Line})
	}
	return list
}

// receiver returns the name of a method's type, or "" for a plain function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// site is where a mutant changes a file.
type site struct {
	file, text string
	at         int // offset of the change
}

// find returns the site of right in the only function of that name that contains it.
func (s sources) find(function, right string) (site, error) {
	var found []site
	var near []string // locations of functions of that name
	for file, text := range s {
		for _, f := range functionsOf(file, text, function) {
			body := text[f.from:f.to]
			near = append(near, fmt.Sprintf("%s:%d contains it %d times", file, f.line, strings.Count(body, right)))
			if strings.Count(body, right) == 1 {
				found = append(found, site{file, text, f.from + strings.Index(body, right)})
			}
		}
	}
	switch {
	case len(near) == 0:
		return site{}, fmt.Errorf("no function %s in the module", function)
	case len(found) != 1:
		return site{}, fmt.Errorf("%d functions %s contain %q once (expected 1): %s", len(found), function, right, strings.Join(near, ", "))
	}
	return found[0], nil
}
