// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// steady is an observer that, between steady and release, learns nothing but what is recorded: so that a plan and the pass that
// follows it see the same. (To the engine it is a slow observer, with which it has to cope anyway.)
type steady struct {
	reconciler.Observer

	mu   sync.Mutex
	seen map[string]observe.Observation // nil unless it is steady
	gone map[string]bool
}

func (s *steady) steady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.gone = map[string]observe.Observation{}, map[string]bool{}
}

func (s *steady) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.gone = nil, nil
}

func observed(gvk schema.GroupVersionKind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", gvk, namespace, name)
}

// Get returns what it returned before.
func (s *steady) Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := observed(gvk, namespace, name)
	if seen, ok := s.seen[key]; ok {
		return seen, observe.Present
	}
	if s.gone[key] {
		return observe.Observation{}, observe.Absent
	}
	seen, view := s.Observer.Get(gvk, namespace, name)
	switch {
	case s.seen == nil:
	case view == observe.Present:
		s.seen[key] = seen
	case view == observe.Absent:
		s.gone[key] = true
	}
	return seen, view
}

// Record is passed on.
func (s *steady) Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation) {
	s.mu.Lock()
	if s.seen != nil {
		s.seen[observed(gvk, namespace, name)] = observation
	}
	s.mu.Unlock()
	s.Observer.Record(gvk, namespace, name, observation)
}

// applyAsPlanned makes a pass, and checks that a plan made before it has foretold what it does.
func (w *world) applyAsPlanned(request reconciler.ApplyRequest) (reconciler.Result, error) {
	w.Helper()
	if w.steady != nil {
		w.steady.steady()
		defer w.steady.release()
	}
	plan, planErr := w.engine.Plan(w.Context(), request, reconciler.PlanOptions{})
	result, err := w.engine.Apply(w.Context(), request)
	w.expectForetold(plan, planErr, result, err)
	return result, err
}

// expectForetold compares the first pass with the plan. What a plan that asks the server nothing cannot know is excepted.
func (w *world) expectForetold(plan reconciler.Plan, planErr error, result reconciler.Result, err error) {
	w.Helper()
	var refused *reconciler.RefusedError
	if planErr != nil {
		if errors.As(planErr, &refused) && cmp.Diff(fmt.Sprint(err), planErr.Error()) != "" {
			w.Errorf("planned to be refused: %v, applied: %v", planErr, err)
		}
		return
	}
	changes := map[string]reconciler.Change{}
	for _, change := range plan.Changes {
		changes[change.Object.String()] = change
		if change.Refusal != "" && err == nil {
			w.Errorf("%s was accepted, although it was planned to be refused: %s", change.Object, change.Refusal)
		}
	}
	done := firstVerbs(result)
	for _, object := range slices.Sorted(maps.Keys(done)) {
		change, planned := changes[object]
		switch verb := done[object]; {
		case !planned:
			w.Errorf("%s was %s, and not planned", object, verb)
		case change.Verb == verb:
		case change.Verb == reconciler.VerbCreated && (verb == reconciler.VerbAdopted || verb == reconciler.VerbUpdated):
			// It exists without our label, which only the server knows.
		case verb == reconciler.VerbCorrected && change.Reason == "may have been changed by others":
		default:
			w.Errorf("%s was %s, and planned to be %q (%s)", object, verb, change.Verb, change.Reason)
		}
	}
	if err != nil || !result.Done {
		return
	}
	for object, change := range changes {
		if change.Verb != "" && done[object] == "" {
			w.Errorf("%s was left alone, and planned to be %s (%s)", object, change.Verb, change.Reason)
		}
	}
}

// firstVerbs returns what was done first to each object.
func firstVerbs(result reconciler.Result) map[string]reconciler.Verb {
	first := map[string]reconciler.Verb{}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			name := object.(*reconciler.InventoryItem)
			key := reconciler.ObjectInfo{TypeVersionInfo: name.TypeVersionInfo, NameInfo: name.NameInfo}.String()
			// What ends an object comes after what made it.
			if ends := action.Verb == reconciler.VerbCompleted || action.Verb == reconciler.VerbDeleted; !ends || first[key] == "" {
				first[key] = action.Verb
			}
		}
	}
	return first
}
