package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// sources are Go files without tests, by absolute path.
type sources map[string]string

// modulePlaces returns the files of the module around the working directory, which are read
// once.
var modulePlaces = sync.OnceValue(func() sources {
	root, err := filepath.Abs(".")
	if err != nil {
		panic(err)
	}
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			panic("no go.mod above the working directory")
		}
		root = filepath.Dir(root)
	}
	all := sources{}
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
		all[path] = string(text)
		return err
	})
	if err != nil {
		panic(err)
	}
	return all
})

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// function is where a function is declared, by offset, with the line break behind it.
type function struct{ from, to, line int }

// functionsOf finds functions called Name, or methods called T.Name, in a file. Only a file
// that has the words is parsed.
func functionsOf(file, text, name string) []function {
	of, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		of, method = "", name
	}
	if !strings.Contains(text, " "+method+"(") && !strings.Contains(text, " "+method+"[") || !strings.Contains(text, of) {
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
		if !ok || f.Name.Name != method || receiver(f) != of {
			continue
		}
		from := set.Position(f.Pos())
		list = append(list, function{from.Offset, min(len(text), set.Position(f.End()).Offset+1), from.Line})
	}
	return list
}

// receiver returns the name of a method's type; nothing for a plain function.
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
