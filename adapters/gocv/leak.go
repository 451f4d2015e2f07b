// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Leak is Mats that were collected by the garbage collector without Close.
type Leak struct {
	Opened   string // file and line of the call of Open
	Count    int
	Sequence uint64 // of the newest frame
	// Held counts those whose frame is held for good, because headers (Region,
	// RowRange, Reshape) still showed its pixels.
	Held int
}

var (
	opened atomic.Int64

	leaks = struct {
		sync.Mutex
		at map[place]Leak
	}{at: map[place]Leak{}}
)

// Opened is how many Mats are open now.
func Opened() int { return int(opened.Load()) }

// Leaks lists the places at which Mats were opened that were collected without
// Close. Each was also logged as an error when it was collected.
func Leaks() []Leak {
	leaks.Lock()
	defer leaks.Unlock()
	return slices.SortedFunc(maps.Values(leaks.at), func(a, b Leak) int { return strings.Compare(a.Opened, b.Opened) })
}

// place is where a program called.
type place uintptr

// here is where the function that calls it was called.
func here() place {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return place(pc[0])
}

// String is "/path/main.go:33".
func (p place) String() string {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(p)}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func isTaken(err error) bool { return errors.Is(err, ErrTaken) }

// collected is called when no Go code has the Mat or a copy of its gocv.Mat.
// What was closed leaves a header to be freed; what was not is a leak.
func collected(r *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		if !r.taken {
			r.loan.drop()
		}
		return
	}
	sequence, headers := r.frame.Meta().Sequence, r.loan.headers()
	// A function of OpenCV that was called with the last copy may still run: the
	// header stays what it is, and is lost.
	held := headers > 1
	leaks.Lock()
	l := leaks.at[r.opened]
	l.Opened, l.Sequence = r.opened.String(), sequence
	l.Count++
	if held {
		l.Held++
		forever = append(forever, r)
	}
	leaks.at[r.opened] = l
	leaks.Unlock()
	opened.Add(-1)
	slog.Error("Mat was never closed", "opened", l.Opened, "sequence", sequence, "headers", headers)
	if !held {
		r.letGo()
	}
}

// forever are records whose frames are held for good; leaks guards it.
var forever []*record
