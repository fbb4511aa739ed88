// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

var errUnwanted = errors.New("another process knows better")

// asked is an owner that counts how often it is asked, and confirms until it is told not to.
type asked struct {
	times  int
	answer func(times int) error
}

func (a *asked) confirm(stdcontext.Context) error {
	a.times++
	if a.answer != nil {
		return a.answer(a.times)
	}
	return nil
}

func onlyOnce(times int) error {
	if times > 1 {
		return errUnwanted
	}
	return nil
}

// newAskedWorld has an owner that can be asked, and an observer that knows what it was told.
func newAskedWorld(t *testing.T, onOperation func(string)) (*world, *asked, sight) {
	t.Helper()
	seen, owner := sight{}, &asked{}
	w := newWorld(t, func(s *setup) { s.observer = seen }, withOptions(func(o *reconciler.Options) {
		o.MaxConcurrency, o.OnOperation = 1, onOperation
	}))
	w.owner.Confirm = owner.confirm
	return w, owner, seen
}

// lose deletes ConfigMaps as another client, and lets the observer know.
func (w *world) lose(seen sight, names ...string) {
	w.Helper()
	for _, name := range names {
		w.remove(w.configMap(name))
		delete(seen, name)
	}
}

// spoil changes a ConfigMap as another client, and lets the observer know.
func (w *world) spoil(seen sight, name string) {
	w.Helper()
	w.patch(w.configMap(name), `{"data":{"value":"drifted"}}`)
	drifted := seen[name]
	drifted.Fingerprint, drifted.ResourceVersion = "other", w.configMap(name).GetResourceVersion()
	seen[name] = drifted
}

func (a *asked) expect(t *testing.T, reason string, times int) {
	t.Helper()
	if a.times != times {
		t.Errorf("%s: want the owner to be asked %d times, got %d", reason, times, a.times)
	}
	a.times = 0
}

func expectUnwanted(t *testing.T, err error) {
	t.Helper()
	var fenced *reconciler.FencedError
	if !errors.As(err, &fenced) || !errors.Is(err, errUnwanted) || strings.Count(err.Error(), errUnwanted.Error()) != 1 {
		t.Errorf("want an error that names the reason once, got %v", err)
	}
}

func TestOwnerIsAskedOnlyAboutWhatHasVanished(t *testing.T) {
	t.Parallel()
	w, owner, seen := newAskedWorld(t, nil)
	manifests := configMaps(6, 2)
	w.mustApply(manifests)
	owner.expect(t, "creation", 0)
	w.mustApply(manifests)
	owner.expect(t, "rest", 0)
	changed := strings.Replace(manifests, `data: {value: "3"}`, `data: {value: "changed"}`, 1)
	w.expectActions(w.mustApply(changed), "Updated ConfigMap c3")
	owner.expect(t, "another manifest", 0)
	w.spoil(seen, "c3")
	w.expectActions(w.mustApply(changed), "Corrected ConfigMap c3")
	owner.expect(t, "drift of the content", 0)

	w.lose(seen, "c0", "c1", "c2", "c5")
	w.expectActions(w.mustApply(changed), "Restored ConfigMap c0", "Restored ConfigMap c1", "Restored ConfigMap c2", "Restored ConfigMap c5")
	owner.expect(t, "several have vanished, in two waves", 1)
	w.lose(seen, "c3")
	w.expectActions(w.mustApply(manifests), "Created ConfigMap c3")
	owner.expect(t, "one has vanished whose manifest has changed as well", 1)
	w.mustDelete()
	owner.expect(t, "deletion", 0)
}

// TestNothingIsWrittenWithoutConfirmation has an owner that no longer wants what the call was given.
func TestNothingIsWrittenWithoutConfirmation(t *testing.T) {
	t.Parallel()
	w, owner, seen := newAskedWorld(t, nil)
	manifests := configMaps(4, 2)
	w.mustApply(manifests)
	w.lose(seen, "c0", "c1")
	w.spoil(seen, "c3")
	owner.answer = func(int) error { return errUnwanted }
	w.requests.Reset()
	result, err := w.apply(manifests)
	expectUnwanted(t, err)
	owner.expect(t, "one answer is enough", 1)
	if writes := w.writes(); len(writes) != 0 || len(result.Actions) != 0 {
		t.Errorf("want nothing to be written, not even what has drifted in a later wave, got %v", writes)
	}
	w.expectInventory("ConfigMap c0 Ready Current", "ConfigMap c1 Ready Current", "ConfigMap c2 Ready Current", "ConfigMap c3 Ready Current")

	owner.answer = nil
	w.expectActions(w.mustApply(manifests), "Restored ConfigMap c0", "Restored ConfigMap c1", "Corrected ConfigMap c3")
}

// TestAnAnswerDoesNotCountForWhatVanishesLater deletes an object after the owner was asked about another one.
func TestAnAnswerDoesNotCountForWhatVanishesLater(t *testing.T) {
	t.Parallel()
	w, owner, seen := newAskedWorld(t, nil)
	manifests := configMaps(2, 2)
	w.mustApply(manifests)
	w.lose(seen, "c0")
	owner.answer = onlyOnce
	w.owner.Fence = func() error {
		if w.configMap("c1") != nil {
			w.lose(seen, "c1")
		}
		return nil
	}
	result, err := w.apply(manifests)
	expectUnwanted(t, err)
	w.expectActions(result, "Restored ConfigMap c0")
	if w.configMap("c1") != nil {
		t.Error("want the other one not to be created")
	}
}

// TestAnAnswerCountsOnce has an object come and go between the answer of the owner and its creation.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	meddle := func(string) {}
	w, owner, seen := newAskedWorld(t, func(action string) { meddle(action) })
	manifests := configMaps(2, 2)
	w.mustApply(manifests)
	w.lose(seen, "c0", "c1")
	creations := 0
	meddle = func(action string) {
		if action == "create" {
			creations++
		}
		switch {
		case action == "create" && creations == 2:
			w.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: c1}}")
		case action == "read" && creations == 2:
			w.remove(w.configMap("c1"))
		}
	}
	owner.answer = onlyOnce
	result, err := w.apply(manifests)
	expectUnwanted(t, err)
	owner.expect(t, "when both had vanished, and when the one that others had created was gone", 2)
	w.expectActions(result, "Restored ConfigMap c0")
	if w.configMap("c1") != nil {
		t.Error("want it not to be created")
	}
}

func TestOwnerIsNotAskedAboutWhatWeHaveDeleted(t *testing.T) {
	t.Parallel()
	w, owner, seen := newAskedWorld(t, nil)
	manifest := func(value string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {PREFIX/update-policy: recreate}}, data: {value: "` + value + `"}}`
	}
	w.mustApply(manifest("1"))
	first := w.configMap("a").GetUID()
	w.expectActions(w.mustApply(manifest("2")), "Updated ConfigMap a")
	second := w.configMap("a").GetUID()
	if first == second {
		t.Error("want the object to be created again")
	}
	owner.expect(t, "it was us", 0)

	w.remove(w.configMap("a")) // of which the observer does not know
	owner.answer = func(int) error { return errUnwanted }
	_, err := w.apply(manifest("3"))
	expectUnwanted(t, err)
	owner.expect(t, "others were faster", 1)
	if w.configMap("a") != nil {
		t.Error("want it not to be created")
	}
	delete(seen, "a")
}

// TestOwnerIsAskedAboutEachThatCannotBeWatched is about unwatched objects, which may have vanished at any time.
func TestOwnerIsAskedAboutEachThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	w, owner := newWorld(t, withoutObserver), &asked{}
	w.owner.Confirm = owner.confirm
	w.mustApply(configMaps(3, 1))
	w.remove(w.configMap("c0"))
	w.remove(w.configMap("c1"))
	w.expectActions(w.mustApply(configMaps(3, 1)), "Restored ConfigMap c0", "Restored ConfigMap c1")
	owner.expect(t, "two have vanished", 2)
}
