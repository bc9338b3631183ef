package registry_test

import (
	"fmt"

	"github.com/xoff-net/xoff/base/registry"
)

// Register a scheme; scenario files then accept its name, and command help lists it.
func ExampleTable_Register() {
	type params struct {
		Times int `yaml:"times" doc:"number of repetitions"`
	}
	greetings := registry.NewTable[func(params any) string]("greeting")
	greetings.Register(registry.Entry[func(params any) string]{
		Name: "hello", Doc: "says hello",
		Params: func() any { return &params{Times: 2} },
		New:    func(p any) string { return fmt.Sprintf("hello, %d times", p.(*params).Times) },
	})
	e, err := greetings.Get("hello")
	fmt.Println(e.New(e.Params()), err)
	_, err = greetings.Get("helo")
	fmt.Println(err)
	// Output:
	// hello, 2 times <nil>
	// unknown greeting "helo"; did you mean "hello"? (allowed: hello)
}
