package dataplane

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// A timer that is behind its schedule is woken once for each time it requested; other timers are
// woken in between, in order of time. Timer 0 requests every multiple of 10, timer 1 is due at
// 25, and the node is woken only at 37.
func TestWakesBehindSchedule(t *testing.T) {
	w := newWakes(2)
	w.set(0, 10)
	w.set(1, 25)
	var order []string
	next := units.Time(10)
	w.each(37, func(id int) {
		order = append(order, fmt.Sprint(id))
		if id == 0 {
			next += 10
			w.set(0, next)
		}
	})
	if want := []string{"0", "0", "1", "0"}; !reflect.DeepEqual(order, want) || w.next() != 40 {
		t.Errorf("woken %v, then at %d; want %v, then at 40", order, w.next(), want)
	}
	extra := w.add()
	w.set(extra, 38)
	if extra != 2 || w.next() != 38 {
		t.Errorf("timer %d is due at %d, want timer 2 at 38", extra, w.next())
	}
}

// A timer that requests the time it was woken for would be woken forever, so each panics.
func TestWakesStuck(t *testing.T) {
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "was woken for 10ps and requests 10ps") {
			t.Errorf("panic %q, want one that names both times", r)
		}
	}()
	w := newWakes(1)
	w.set(0, 10)
	w.each(20, func(int) { w.set(0, 10) })
}
