// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package panics

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// Error is a panic that was caught.
type Error struct {
	// Value is the argument of panic.
	Value any
	// Place is where the panic happened: the last two elements of the path of the file, and the line.
	Place string
}

// Error returns value and place.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v (%s)", e.Value, e.Place) }

// Is reports whether an error is, or wraps, a panic.
func Is(err error) bool {
	_, is := errors.AsType[*Error](err)
	return is
}

// Catcher catches panics. It is safe for concurrent use. The zero value is ready for use.
type Catcher struct {
	// Count is called for each panic.
	Count func()

	mu sync.Mutex
	// logged has the places whose stack has been logged.
	logged map[string]bool
}

// Catch catches a panic of the function that defers it. It must be deferred directly. After a panic, it calls use.
func (c *Catcher) Catch(log logr.Logger, use func(err error)) {
	value := recover()
	if value == nil {
		return
	}
	err := &Error{Value: value, Place: place()}
	if c.Count != nil {
		c.Count()
	}
	if c.isNew(err.Place) {
		log.Error(nil, "panic during the reconciliation", "reason", fmt.Sprint(value), "place", err.Place, "stack", string(debug.Stack()))
	}
	use(err)
}

// Run does work. A panic becomes an error.
func (c *Catcher) Run(log logr.Logger, work func() error) (err error) {
	defer c.Catch(log, func(reason error) { err = reason })
	return work()
}

func (c *Catcher) isNew(place string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logged[place] {
		return false
	}
	if c.logged == nil {
		c.logged = map[string]bool{}
	}
	c.logged[place] = true
	return true
}

// place returns where the panic that is being caught happened: the call of panic, or the operation that has failed. If that is in the standard library, it is where
// that was called.
func place() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	first := ""
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			at := fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(frame.File)), path.Base(frame.File), frame.Line)
			if !isStandard(frame.Function) {
				return at
			}
			first = cmp.Or(first, at)
		}
		if !more {
			return cmp.Or(first, "unknown place")
		}
	}
}

// isStandard reports whether a function belongs to the standard library: the first element of its path has no dot, unlike that of a module.
func isStandard(function string) bool {
	element, _, found := strings.Cut(function, "/")
	if !found {
		element, _, _ = strings.Cut(function, ".")
		return element != "main"
	}
	return !strings.Contains(element, ".")
}
