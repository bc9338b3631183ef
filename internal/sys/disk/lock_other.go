//go:build !unix

package disk

import "os"

// lock does nothing: there are no locks of folders here.
func lock(*os.File) error { return nil }
