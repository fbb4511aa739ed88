// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
)

// comparesPlans means that each pass is planned before, and compared with its plan: see "make test-plans".
var comparesPlans = os.Getenv("TEST_PLANS") != ""

// steady is an observer that learns nothing but what is recorded while it is frozen, so that a plan and the pass that
// follows it see the same.
type steady struct {
	reconciler.Observer

	mu       sync.Mutex
	seen     map[string]glimpse // nil unless it is frozen
	versions map[observe.Name]version
}

type glimpse struct {
	observation observe.Observation
	view        observe.View
}

type version struct {
	text string
	view observe.View
}

func (s *steady) set(isFrozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.versions = nil, nil
	if isFrozen {
		s.seen, s.versions = map[string]glimpse{}, map[observe.Name]version{}
	}
}

func observed(gvk schema.GroupVersionKind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", gvk, namespace, name)
}

// Get returns what it returned before.
func (s *steady) Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := observed(gvk, namespace, name)
	if before, ok := s.seen[key]; ok {
		return before.observation, before.view
	}
	observation, view := s.Observer.Get(gvk, namespace, name)
	if s.seen != nil && view != observe.Unseen {
		s.seen[key] = glimpse{observation, view}
	}
	return observation, view
}

// Version returns what it returned before.
func (s *steady) Version(name observe.Name) (text string, view observe.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.versions[name]; ok {
		return before.text, before.view
	}
	text, view = s.Observer.Version(name)
	if s.versions != nil && view != observe.Unseen {
		s.versions[name] = version{text, view}
	}
	return text, view
}

// Record is passed on.
func (s *steady) Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation) {
	s.mu.Lock()
	if s.seen != nil {
		s.seen[observed(gvk, namespace, name)] = glimpse{observation, observe.Present}
	}
	s.mu.Unlock()
	s.Observer.Record(gvk, namespace, name, observation)
}

// newPlanner returns a reconciler that shares the observer of the world, and whose requests are not recorded.
func (w *world) newPlanner(s setup) *reconciler.Reconciler {
	w.Helper()
	planners.Do(func() { planners.client = newClusterClient(w, testenv.Config(w)) })
	s.options.OnOperation = nil
	planner, err := reconciler.NewObserving(s.name, planners.client, s.options, func(reconciler.Observer) reconciler.Observer { return w.observer })
	if err != nil {
		w.Fatal(err)
	}
	return planner
}

var planners struct {
	sync.Once
	client cluster.Client
}

// pass makes a pass, and compares it with its plan if that is asked for.
func (w *world) pass(request reconciler.ApplyRequest) (reconciler.Result, error) {
	w.Helper()
	if w.planner == nil {
		return w.engine.Apply(w.Context(), request)
	}
	if s, ok := w.observer.(*steady); ok {
		s.set(true)
		defer s.set(false)
	}
	plan, planErr := w.planner.Plan(w.Context(), request, reconciler.PlanOptions{Compare: true})
	result, err := w.engine.Apply(w.Context(), request)
	var refused *reconciler.RefusedError
	switch {
	case errors.As(planErr, &refused):
		if fmt.Sprint(err) != planErr.Error() {
			w.Errorf("planned to be refused: %v, applied: %v", planErr, err)
		}
	case planErr == nil:
		w.expectPlanned(plan, result, err)
	}
	return result, err
}

// expectPlanned compares a pass with its plan. The planner does not remember what is changed repeatedly.
func (w *world) expectPlanned(plan reconciler.Plan, result reconciler.Result, err error) {
	w.Helper()
	if strings.Contains(notices(result.Drift)+notices(result.Waits), "repeatedly") {
		return
	}
	done := firstVerbs(result)
	planned := map[string]bool{}
	for _, change := range plan.Changes {
		object := identity(change.Object)
		planned[object] = true
		verb := done[object]
		isGone := verb == reconciler.VerbDeleted &&
			(strings.Contains(change.Reason, "no such object") || strings.Contains(change.Reason, "has served its purpose"))
		switch {
		case change.Refusal != "" && err == nil:
			w.Errorf("%s was accepted, although it was planned to be refused: %s", object, change.Refusal)
		case verb != "" && verb != change.Verb && !isGone:
			w.Errorf("%s was %s, and planned to be %q (%s)", object, verb, change.Verb, change.Reason)
		case verb == "" && change.Verb != "" && change.Reason != reconciler.ReasonUnchanged && err == nil && result.Done:
			w.Errorf("%s was left alone, and planned to be %s (%s)", object, change.Verb, change.Reason)
		}
	}
	for object, verb := range done {
		if !planned[object] {
			w.Errorf("%s was %s, and is not part of the plan", object, verb)
		}
	}
}

// identity names an object with its group, which messages leave out where it is evident.
func identity(object reconciler.ObjectInfo) string {
	return object.String() + " (" + object.Group + ")"
}

// firstVerbs returns what was done first to each object, except on-failure hooks, which plans do not include.
func firstVerbs(result reconciler.Result) map[string]reconciler.Verb {
	first := map[string]reconciler.Verb{}
	for _, action := range result.Actions {
		if strings.HasPrefix(reconcilertypes.WaveText(action.Wave), "on-failure") {
			continue
		}
		for _, object := range action.Objects {
			name := object.(*reconciler.InventoryItem)
			key := identity(reconciler.ObjectInfo{TypeVersionInfo: name.TypeVersionInfo, NameInfo: name.NameInfo})
			// What ends an object comes after what made it.
			if ends := action.Verb == reconciler.VerbCompleted || action.Verb == reconciler.VerbDeleted; !ends || first[key] == "" {
				first[key] = action.Verb
			}
		}
	}
	return first
}
