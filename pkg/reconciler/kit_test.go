// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	reconcilertypes "github.com/component-operator/runtime/pkg/types"
)

// prefix is the name of the reconciler under test.
const prefix = "test.component-operator.io"

// world is one owner with its dependents in a namespace of its own, and everything a trace needs to look at and meddle
// with them.
type world struct {
	testing.TB
	client    client.Client
	namespace string
	engine    *reconciler.Reconciler
	owner     reconciler.Owner
	policies  reconciler.Policies
	judge     status.Judge // of the owner; nil for that of the engine
	deletions reconciler.Deletions
	suspend   bool
	digest    string
	woken     chan string
	requests  *testenv.Requests
	observer  reconciler.Observer
	planner   *reconciler.Reconciler // nil unless plans are compared with passes
	saves     int
	// isSeen reports whether the observer has seen what another client has done last to a dependent; nil if there is
	// nothing to see.
	isSeen func() bool
}

func init() {
	log.SetLogger(logr.Discard())
}

type option func(*setup)

type setup struct {
	name     string
	options  reconciler.Options
	observer reconciler.Observer // instead of watches; nil if there are such
	config   *rest.Config
	pause    time.Duration // of barriers
	brief    bool          // does not run all the time, like clm
}

func withoutObserver(s *setup) { s.observer = reconciler.Blind{} }

func withOptions(change func(*reconciler.Options)) option {
	return func(s *setup) { change(&s.options) }
}

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	config, requests := testenv.CountingConfig(t)
	s := setup{name: prefix, config: config, pause: time.Millisecond}
	for _, apply := range options {
		apply(&s)
	}
	if !s.brief && s.options.Finalizer == "" {
		s.options.Finalizer = s.name
	}
	w := &world{TB: t, client: testenv.Client(t), namespace: testenv.Namespace(t), woken: make(chan string, 10000), requests: requests, digest: "d"}
	w.owner = reconciler.Owner{ID: "uid/" + w.namespace + "/" + "component", Namespace: w.namespace, Store: w}
	clnt := newClusterClient(t, s.config)
	engine, err := reconciler.NewObserving(s.name, clnt, s.options, func(watches reconciler.Observer) reconciler.Observer {
		switch {
		case s.observer != nil:
			w.observer = s.observer
		case comparesPlans:
			w.observer = &steady{Observer: watches}
		default:
			w.observer = watches
		}
		return w.observer
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	engine.Subscribe(w.owner.ID, func() { w.woken <- w.owner.ID })
	w.engine = engine
	reconciler.SetBarrierPause(engine, s.pause)
	reconciler.SetStoragePause(engine, time.Second)
	// What a made up observer says need not be what the server says.
	if _, isMadeUp := s.observer.(sight); comparesPlans && !isMadeUp {
		w.planner = w.newPlanner(s)
	}
	return w
}

func newClusterClient(t testing.TB, config *rest.Config) cluster.Client {
	t.Helper()
	clnt, err := reconciler.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	return clnt
}

// restart returns a world with another process for the same owner.
func (w *world) restart(options ...option) *world {
	w.Helper()
	successor := newWorld(w.TB, options...)
	successor.owner, successor.namespace, successor.digest, successor.policies, successor.judge, successor.deletions = w.owner, w.namespace, w.digest, w.policies, w.judge, w.deletions
	successor.owner.Store = successor
	successor.engine.Subscribe(successor.owner.ID, func() { successor.woken <- successor.owner.ID })
	return successor
}

// Save makes the world a store that counts.
func (w *world) Save(_ stdcontext.Context, inventory []*reconciler.InventoryItem) error {
	w.saves++
	w.owner.Inventory = inventory
	return nil
}

// apply makes one pass over the manifests.
func (w *world) apply(manifests string) (reconciler.Result, error) {
	w.Helper()
	return w.applyObjects(objects(w, manifests))
}

// once makes one pass that must not fail.
func (w *world) once(manifests string) reconciler.Result {
	w.Helper()
	result, err := w.apply(manifests)
	if err != nil {
		w.Fatal(err)
	}
	return result
}

func (w *world) applyObjects(objects []client.Object) (reconciler.Result, error) {
	w.Helper()
	result, err := w.pass(w.requestFor(objects))
	w.owner.Inventory = result.Inventory
	return result, err
}

func (w *world) request(manifests string) reconciler.ApplyRequest {
	w.Helper()
	return w.requestFor(objects(w, manifests))
}

func (w *world) requestFor(objects []client.Object) reconciler.ApplyRequest {
	return reconciler.ApplyRequest{Owner: w.owner, Objects: objects, Digest: w.digest, Policies: w.policies, Judge: w.judge, Deletions: w.deletions, Suspend: w.suspend}
}

// expand replaces NS by the namespace, and PREFIX by the annotation prefix.
func (w *world) expand(text string) string {
	return strings.NewReplacer("PREFIX", prefix, "NS", w.namespace).Replace(text)
}

// mustApply makes passes until the result is done, and fails after too many.
func (w *world) mustApply(manifests string) reconciler.Result {
	w.Helper()
	var last reconciler.Result
	testenv.Eventually(w, func() (bool, string) {
		result, err := w.apply(manifests)
		last.Actions = append(last.Actions, result.Actions...)
		last.Notes = append(last.Notes, result.Notes...)
		last.Drift = result.Drift
		if err != nil {
			return false, err.Error()
		}
		return result.Done, notices(result.Waits)
	})
	return last
}

// delete makes one pass of deletion.
func (w *world) delete() (reconciler.Result, error) {
	w.Helper()
	result, err := w.engine.Delete(w.Context(), reconciler.DeleteRequest{Owner: w.owner, Approved: w.deletions.Approved})
	w.owner.Inventory = result.Inventory
	return result, err
}

func (w *world) mustDelete() {
	w.Helper()
	w.finish(w.delete)
}

// finish makes passes until one is done.
func (w *world) finish(pass func() (reconciler.Result, error)) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		result, err := pass()
		if err != nil {
			return false, err.Error()
		}
		return result.Done, notices(result.Waits)
	})
}

func notices(list []reconciler.Notice) string {
	texts := make([]string, len(list))
	for i, notice := range list {
		texts[i] = text(notice.Object) + ": " + notice.Message
	}
	return strings.Join(texts, "; ")
}

func text(object reconcilertypes.ObjectKey) string {
	kind := ""
	if typed, ok := object.(*reconciler.InventoryItem); ok {
		kind = typed.Kind
	}
	return kind + " " + object.GetName()
}

// inventory renders the whole inventory, one line an item, in recorded order.
func (w *world) inventory() []string {
	lines := make([]string, len(w.owner.Inventory))
	for i, item := range w.owner.Inventory {
		lines[i] = fmt.Sprintf("%s %s %s %s", item.Kind, strings.ReplaceAll(item.Name, w.namespace, "NS"), item.Phase, item.Status)
	}
	return lines
}

func (w *world) expectInventory(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.inventory(), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("inventory (-want +got):\n%s", diff)
	}
}

// actions renders what was done.
func actions(result reconciler.Result) []string {
	var lines []string
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			lines = append(lines, fmt.Sprintf("%s %s", action.Verb, text(object)))
		}
	}
	slices.Sort(lines)
	return lines
}

func (w *world) expectActions(result reconciler.Result, want ...string) {
	w.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, actions(result), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("actions (-want +got):\n%s", diff)
	}
}

// get reads an object; nil if there is none.
func (w *world) get(apiVersion, kind, name string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	key := client.ObjectKey{Namespace: w.namespace, Name: w.expand(name)}
	if err := w.client.Get(context(w), key, object); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		w.Fatal(err)
	}
	return object
}

func (w *world) configMap(name string) *unstructured.Unstructured {
	w.Helper()
	return w.get("v1", "ConfigMap", name)
}

// create creates objects as another client.
func (w *world) create(manifests string) {
	w.Helper()
	for _, object := range testenv.Objects(w, w.expand(manifests)) {
		if object.GetNamespace() == "" && object.GetKind() != "Namespace" && object.GetKind() != "CustomResourceDefinition" && object.GetKind() != "StorageClass" {
			object.SetNamespace(w.namespace)
		}
		testenv.Eventually(w, func() (bool, string) {
			err := w.client.Create(w.Context(), object, client.FieldOwner("somebody"))
			var undiscovered *apiutil.ErrResourceDiscoveryFailed
			if meta.IsNoMatchError(err) || errors.As(err, &undiscovered) {
				return false, err.Error() // a new type is served some time before the server says so
			}
			if err != nil {
				w.Fatal(err)
			}
			return true, ""
		})
	}
}

// patch changes an object as another client, by a merge patch.
func (w *world) patch(object *unstructured.Unstructured, patch string) {
	w.Helper()
	w.patchAs(object, patch, "somebody")
}

func (w *world) patchAs(object *unstructured.Unstructured, patch, manager string) {
	w.Helper()
	if object == nil {
		w.Fatal("the object does not exist")
	}
	if err := w.client.Patch(w.Context(), object, client.RawPatch(apitypes.MergePatchType, []byte(w.expand(patch))), client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
	w.noteChange(object, false)
}

// remove deletes an object as another client.
func (w *world) remove(object client.Object) {
	w.Helper()
	if missing, ok := object.(*unstructured.Unstructured); ok && missing == nil {
		w.Fatal("the object does not exist")
	}
	if err := w.client.Delete(w.Context(), object, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	w.noteChange(object, true)
}

// requested returns the names of the objects of all requests with a method, in their order.
func (w *world) requested(method string) string {
	var names []string
	for _, request := range w.requests.All() {
		if request.Method == method {
			names = append(names, path.Base(request.Path))
		}
	}
	return strings.Join(names, " ")
}

// settle waits until the observer has reported something and makes a pass each time, until condition holds.
func (w *world) settle(manifests string, condition func(reconciler.Result) (bool, string)) reconciler.Result {
	w.Helper()
	return w.settleObjects(func() []client.Object { return objects(w, manifests) }, condition)
}

// settleObjects is settle for objects that are generated for each pass.
func (w *world) settleObjects(generate func() []client.Object, condition func(reconciler.Result) (bool, string)) reconciler.Result {
	w.Helper()
	var result reconciler.Result
	deadline := time.After(60 * time.Second)
	for {
		var err error
		if result, err = w.applyObjects(generate()); err != nil {
			w.Fatal(err)
		}
		ok, reason := condition(result)
		if ok {
			return result
		}
		select {
		case <-w.woken:
		case <-timer(result.RequeueAfter):
		case <-deadline:
			w.Fatalf("no event led to what was awaited: %s", reason)
		}
	}
}

func timer(delay time.Duration) <-chan time.Time {
	if delay == 0 {
		return nil
	}
	return time.After(delay)
}

// expectRefusal checks that the error is a refusal that contains all texts.
func (w *world) expectRefusal(err error, texts ...string) {
	w.Helper()
	var refused *reconciler.RefusedError
	if !errors.As(err, &refused) {
		w.Fatalf("expected a refusal, got %v", err)
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), w.expand(want)) {
			w.Errorf("expected the refusal to contain %q, got %q", w.expand(want), err)
		}
	}
}

// writes returns the requests so far that changed something, without events.
func (w *world) writes() []string {
	var lines []string
	for _, request := range w.requests.All() {
		if request.IsWrite() {
			lines = append(lines, request.Method+" "+request.Path)
		}
	}
	return lines
}

func diffData(want map[string]any, object *unstructured.Unstructured) string {
	data, _ := object.Object["data"].(map[string]any)
	return cmp.Diff(want, data, cmpopts.EquateEmpty())
}

func diffObjects(want, got any) string {
	return cmp.Diff(want, got)
}

// context returns a context for cleaning up, when that of the test has ended.
func context(testing.TB) stdcontext.Context {
	return stdcontext.Background()
}

func objects(w *world, manifests string) []client.Object {
	w.Helper()
	var list []client.Object
	for _, object := range testenv.Objects(w, w.expand(manifests)) {
		list = append(list, object)
	}
	return list
}

// awaitEvent waits until the observer has reported something and has seen what another client has done last, and ends
// the test if that does not happen.
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

// awaitChange waits until the observer has seen what another client has done last by patch or remove: what it reports
// before may be older.
func (w *world) awaitChange() {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		return w.isSeen == nil || w.isSeen(), "the observer has not seen what another client has done"
	})
	w.isSeen = nil
}

// noteChange has awaitChange wait until an object is gone or is seen as it is now, or later; in a deletion, until that
// has begun. Objects that are not observed are not awaited.
func (w *world) noteChange(object client.Object, deletes bool) {
	w.isSeen = nil
	see := func() (observe.Observation, observe.View) {
		observer := w.observer
		if s, ok := observer.(*steady); ok {
			observer = s.Observer
		}
		return observer.Get(object.GetObjectKind().GroupVersionKind(), object.GetNamespace(), object.GetName())
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

// rest waits until the observer has seen what another client has done last and has nothing to report, and makes passes
// until one is done.
func (w *world) rest(manifests string) {
	w.Helper()
	w.quiesce()
	w.mustApply(manifests)
}
