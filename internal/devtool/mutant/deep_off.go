//go:build !deep

package mutant

// compile: mutants are compiled and tested, not only looked for.
const compile = false
