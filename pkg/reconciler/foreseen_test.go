// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
)

// steady is an observer that, between steady and release, learns nothing but what is recorded: so that a plan and the pass that
// follows it see the same. (To the engine it is a slow observer, with which it has to cope anyway.)
type steady struct {
	reconciler.Observer

	mu   sync.Mutex
	seen map[string]observe.Observation // nil unless it is steady
	gone map[string]observe.Observation
	// versions are those of objects that are read without being dependents; they are what they were when they were first asked for.
	versions map[observe.Name]version
}

type version struct {
	text string
	view observe.View
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

func (s *steady) steady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.gone, s.versions = map[string]observe.Observation{}, map[string]observe.Observation{}, map[observe.Name]version{}
}

func (s *steady) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.gone, s.versions = nil, nil, nil
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
	if last, ok := s.gone[key]; ok {
		return last, observe.Absent
	}
	seen, view := s.Observer.Get(gvk, namespace, name)
	switch {
	case s.seen == nil:
	case view == observe.Present:
		s.seen[key] = seen
	case view == observe.Absent:
		s.gone[key] = seen
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
	told, toldErr := w.engine.Plan(w.Context(), request, reconciler.PlanOptions{})
	var compared reconciler.Plan
	comparedErr := errors.New("not compared")
	if w.planner != nil {
		compared, comparedErr = w.planner.Plan(w.Context(), request, reconciler.PlanOptions{Compare: true})
	}
	result, err := w.engine.Apply(w.Context(), request)
	unchanged := map[string]bool{}
	for _, change := range compared.Changes {
		unchanged[identity(change.Object)] = change.Reason == reconciler.ReasonUnchanged
	}
	w.expectForetold(foretold{told, toldErr, false, unchanged}, result, err)
	// The other planner does not remember who fights, and when a correction is due again is a matter of time.
	fight := func(change reconciler.Change) bool { return strings.Contains(change.Reason, "repeatedly") }
	if !slices.ContainsFunc(told.Changes, fight) {
		w.expectForetold(foretold{compared, comparedErr, true, unchanged}, result, err)
	}
	if comparedErr == nil {
		w.expectContent(compared, result)
	}
	return result, err
}

type foretold struct {
	reconciler.Plan
	err      error
	compared bool
	// unchanged are the objects that an update would not change.
	unchanged map[string]bool
}

// expectForetold compares the first pass with the plan. What a plan that asks the server nothing cannot know is excepted.
func (w *world) expectForetold(plan foretold, result reconciler.Result, err error) {
	w.Helper()
	var refused *reconciler.RefusedError
	if plan.err != nil {
		if errors.As(plan.err, &refused) && fmt.Sprint(err) != plan.err.Error() {
			w.Errorf("planned to be refused: %v, applied: %v", plan.err, err)
		}
		return
	}
	changes := map[string]reconciler.Change{}
	for _, change := range plan.Changes {
		changes[identity(change.Object)] = change
		if change.Refusal != "" && err == nil {
			w.Errorf("%s was accepted, although it was planned to be refused: %s", change.Object, change.Refusal)
		}
	}
	done := firstVerbs(result)
	for _, object := range slices.Sorted(maps.Keys(done)) {
		if change, planned := changes[object]; !planned || !plan.allows(change, done[object]) {
			w.Errorf("%s was %s, and planned to be %q (%s), compared: %v", object, done[object], change.Verb, change.Reason, plan.compared)
		}
	}
	if err != nil || !result.Done {
		return
	}
	for object, change := range changes {
		// That an object was released a moment ago is known when the event has come.
		unknown := change.Verb == reconciler.VerbOrphaned && !plan.compared
		unknown = unknown || change.Verb == reconciler.VerbUpdated && plan.unchanged[object]
		if change.Verb != "" && done[object] == "" && !unknown {
			w.Errorf("%s was left alone, and planned to be %s (%s), compared: %v", object, change.Verb, change.Reason, plan.compared)
		}
	}
}

// allows reports whether what was done to an object is what was planned.
func (f foretold) allows(change reconciler.Change, verb reconciler.Verb) bool {
	switch {
	case change.Verb == verb:
		return true
	case f.compared:
		// The server knew already that it was gone.
		return verb == reconciler.VerbDeleted && strings.Contains(change.Reason, "no such object")
	case change.Verb == reconciler.VerbRestored && verb == reconciler.VerbCorrected:
		// It exists without our label.
		return true
	case verb == reconciler.VerbCreated:
		// The observer had not seen yet that it is gone.
		return change.Verb == reconciler.VerbUpdated
	case change.Verb == reconciler.VerbCreated:
		// It exists without our label, which only the server knows.
		return verb == reconciler.VerbAdopted || verb == reconciler.VerbUpdated
	default:
		return verb.IsCorrection() && change.Reason == "may have been changed by another client" || strings.Contains(change.Reason, "repeatedly")
	}
}

// expectContent compares what was stored with what was planned, for objects that no controller changes.
func (w *world) expectContent(plan reconciler.Plan, result reconciler.Result) {
	w.Helper()
	done := firstVerbs(result)
	for _, change := range plan.Changes {
		plain := change.Object.Kind == "ConfigMap" || change.Object.Kind == "Secret" && change.Object.Name != "token"
		if !plain || change.After == nil || done[identity(change.Object)] != change.Verb {
			continue
		}
		after := change.After.DeepCopy()
		after.SetUID("")
		if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: change.Object.Namespace, Name: change.Object.Name}, after); err != nil {
			continue // it was purged, or another client was faster
		}
		if diff := cmp.Diff(presentable(after), change.After.Object); diff != "" {
			w.Errorf("%s: stored content differs from what was planned (-stored +planned):\n%s", change.Object, diff)
		}
	}
}

// presentable returns the part of an object that a plan shows.
func presentable(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", prefix+"/digest")
	if len(object.GetAnnotations()) == 0 {
		object.SetAnnotations(nil)
	}
	return object.Object
}

// identity names an object with its group, which messages leave out where it goes without saying.
func identity(object reconciler.ObjectInfo) string {
	return object.String() + " (" + object.Group + ")"
}

// firstVerbs returns what was done first to each object, except on-failure hooks, which plans do not foresee.
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

// plannerClient returns a client that all planners share.
func plannerClient(t testing.TB) cluster.Client {
	t.Helper()
	planners.Do(func() { planners.client = newClusterClient(t, testenv.Config(t)) })
	return planners.client
}

var planners struct {
	sync.Once
	client cluster.Client
}
