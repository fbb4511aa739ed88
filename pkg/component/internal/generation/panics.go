// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/texts"
)

// Error is a panic that was caught.
type Error struct {
	// Value is the argument of panic.
	Value any
	// Place is where the panic happened: the last two elements of the path of the file, and the line.
	Place string
}

// Error returns value and place. The value may be an error of the API server, which quotes what it refuses.
func (e *Error) Error() string { return fmt.Sprintf("panic: %s (%s)", e.text(), e.Place) }

// maxText is the maximum length of the text of a value, in bytes.
const maxText = 2000

func (e *Error) text() string { return texts.Truncate(texts.Text(fmt.Sprint(e.Value)), maxText) }

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
	caught := concurrent.NewPanic(value)
	err := &Error{Value: caught.Value, Place: caught.Place}
	if c.Count != nil {
		c.Count()
	}
	if c.isNew(err.Place) {
		log.Error(nil, "panic during the reconciliation", "reason", err.text(), "place", err.Place, "stack", string(caught.Stack))
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
