//go:build !linux

package hugepage

func prefer(int) {}
