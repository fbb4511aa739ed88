// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"slices"
	"sync"
)

type warningsKey struct{}

// Warnings collects the warnings of generators. It is safe for concurrent use.
type Warnings struct {
	mu      sync.Mutex
	sources []func() []string
}

// TrackWarnings returns a context that collects the warnings of generators that are called with it.
func TrackWarnings(ctx context.Context) (context.Context, *Warnings) {
	warnings := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, warnings), warnings
}

// Warn adds a source of warnings, which may also have some later, when objects are completed. It must be safe for
// concurrent use. Without TrackWarnings it does nothing.
func Warn(ctx context.Context, source func() []string) {
	warnings, ok := ctx.Value(warningsKey{}).(*Warnings)
	if !ok {
		return
	}
	warnings.mu.Lock()
	defer warnings.mu.Unlock()
	warnings.sources = append(warnings.sources, source)
}

// All returns what there is until now, sorted.
func (w *Warnings) All() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, source := range w.sources {
		all = append(all, source()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
