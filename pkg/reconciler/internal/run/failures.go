// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
)

// Failures collects the errors of concurrent work. The zero value has none. It is safe for concurrent use.
type Failures struct {
	mu       sync.Mutex
	problems []string
	faulty   bool // some problems are in the objects themselves
	failures []error
	fenced   *inventory.FencedError // one of them
	unasked  bool                   // a problem is something else than an object that the API server has rejected
	stale    []string
}

// Add adds an error unless it is nil.
func (f *Failures) Add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refused *inventory.RefusedError
	var fenced *inventory.FencedError
	var stale *inventory.StaleError
	switch {
	case errors.As(err, &fenced):
		f.fenced = fenced
	case errors.As(err, &stale):
		f.stale = append(f.stale, stale.Changes...)
	case errors.As(err, &refused):
		f.problems = append(f.problems, refused.Problems...)
		f.faulty = f.faulty || !refused.Foreign
		f.unasked = f.unasked || !refused.Rejected
	case err != nil:
		f.failures = append(f.failures, err)
	}
}

// Err joins all errors in a stable order. It is a *inventory.RefusedError only if a retry would not help; see
// execute.Join.
func (f *Failures) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fenced != nil:
		return f.fenced
	case len(f.stale) > 0:
		slices.Sort(f.stale)
		return &inventory.StaleError{Changes: f.stale}
	case len(f.problems) == 0 && len(f.failures) == 0:
		return nil
	}
	refusals := inventory.NewRefusedError(f.problems...)
	refusals.Foreign, refusals.Rejected = !f.faulty, !f.unasked
	if len(f.failures) == 0 {
		return refusals
	}
	all := slices.Clone(f.failures)
	if len(f.problems) > 0 {
		all = append(all, refusals)
	}
	slices.SortFunc(all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return execute.Join(all...)
}
