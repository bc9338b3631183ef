//go:build !unix

package disk

import "os"

// lock does nothing: folders cannot be locked on this system.
func lock(*os.File) (bool, error) { return false, nil }
