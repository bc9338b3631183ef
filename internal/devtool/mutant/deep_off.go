//go:build !deep

package mutant

// compile is true if MustCatch compiles and tests mutants, not only finds their source.
const compile = false
