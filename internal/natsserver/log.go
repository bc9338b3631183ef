package natsserver

import (
	"fmt"
	"sync"
)

// logger hands on what is wrong, and nothing else.
type logger struct {
	tell func(string)
	mu   sync.Mutex
	why  string
}

func (l *logger) say(format string, v []any) string {
	text := fmt.Sprintf(format, v...)
	if l.tell != nil {
		l.tell("server: " + text)
	}
	return text
}

// fatal is why the server cannot start; empty when it can.
func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Errorf implements server.Logger.
func (l *logger) Errorf(format string, v ...any) { l.say(format, v) }

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
