//go:build !linux

package hugepage

func prefer() {}

func gather() {}
