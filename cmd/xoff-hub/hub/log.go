package hub

import (
	"fmt"
	"sync"
)

// logger implements server.Logger; it passes on errors only.
type logger struct {
	tell func(string)
	mu   sync.Mutex
	why  string
}

// fatal returns why the server cannot start; empty when it can.
func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Errorf implements server.Logger.
func (l *logger) Errorf(format string, v ...any) {
	if l.tell != nil {
		l.tell("server: " + fmt.Sprintf(format, v...))
	}
}

// Fatalf implements server.Logger.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = fmt.Sprintf(format, v...)
}

// Warnf implements server.Logger.
func (l *logger) Warnf(string, ...any) {}

// Noticef implements server.Logger.
func (l *logger) Noticef(string, ...any) {}

// Debugf implements server.Logger.
func (l *logger) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *logger) Tracef(string, ...any) {}
