// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// awaitEvent waits until the observer has reported something and has seen what another client has done last, and ends the test if that does not happen.
func (w *world) awaitEvent() {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		select {
		case <-w.woken:
			return true, ""
		default:
			return false, "the observer has reported nothing"
		}
	})
	w.awaitChange()
}

// awaitChange waits until the observer has seen what another client has done last by patch or remove: what it reports before may be older.
func (w *world) awaitChange() {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		return w.isSeen == nil || w.isSeen(), "the observer has not seen what another client has done"
	})
	w.isSeen = nil
}

// noteChange has awaitChange wait until an object is gone or is seen as it is now, or later; in a deletion, until that has begun. Objects that are not observed are not awaited.
func (w *world) noteChange(object client.Object, deletes bool) {
	w.isSeen = nil
	if w.steady == nil {
		return
	}
	see := func() (observe.Observation, observe.View) {
		return w.steady.Observer.Get(object.GetObjectKind().GroupVersionKind(), object.GetNamespace(), object.GetName())
	}
	if _, view := see(); view == observe.Present {
		w.isSeen = func() bool {
			seen, view := see()
			isCurrent := deletes && seen.Deleting || !deletes && !seen.OlderThan(object.GetResourceVersion())
			return view != observe.Present || seen.UID != object.GetUID() || isCurrent
		}
	}
}

// quiesce waits until the observer has nothing to report and has seen what another client has done last.
func (w *world) quiesce() {
	w.Helper()
	w.awaitChange()
	for {
		select {
		case <-w.woken:
		case <-time.After(200 * time.Millisecond):
			return
		}
	}
}

// rest waits until the observer has seen what another client has done last and has nothing to report, and makes passes until one is done.
func (w *world) rest(manifests string) {
	w.Helper()
	w.quiesce()
	w.mustApply(manifests)
}
