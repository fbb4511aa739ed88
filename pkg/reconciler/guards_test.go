// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// interloper acts once, right before the engine sends a certain request about ConfigMap a, after it has observed the
// object and decided.
type interloper struct {
	method string
	act    func()

	once sync.Once
	came bool
}

func (i *interloper) option(s *setup) {
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			about := requests.New(request.Method, request.URL)
			if i.act != nil && about.Method == i.method && about.Resource == "configmaps" && about.Name == "a" {
				i.once.Do(func() {
					i.came = true
					i.act()
				})
			}
			return next.RoundTrip(request)
		})
	})
}

const guarded = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {POLICIES}}
data: {value: "VALUE"}
`

func guardedManifest(policies, value string) string {
	return strings.NewReplacer("POLICIES", policies, "VALUE", value).Replace(guarded)
}

// takes has another owner adopt the object.
func takes(w *world) {
	w.Helper()
	w.patchAs(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":"theirs"},"annotations":{"PREFIX/owner-id":"theirs"}},"data":{"value":"theirs"}}`, "other-operator")
}

// replaces has others delete the object, and create another one with its name.
func replaces(w *world) {
	w.Helper()
	w.remove(w.configMap("a"))
	w.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {PREFIX/owner-id: theirs}}, data: {value: theirs}}")
}

// TestGuardedWritesLoseToNewerContent has others act between the engine's observation of an object and its write, for
// each kind of write. The engine must not change an object in a state that it has not observed.
func TestGuardedWritesLoseToNewerContent(t *testing.T) {
	t.Parallel()
	change := func(policies string) func(w *world) error {
		return func(w *world) error {
			_, err := w.engine.Apply(w.Context(), w.request(guardedManifest(policies, "2")))
			return err
		}
	}
	for _, test := range []struct {
		reason   string
		policies string
		method   string
		prepare  func(w *world)
		others   func(w *world)
		act      func(w *world) error
		// refused means that the engine says why it leaves the object alone; otherwise it passes over it in silence.
		refused bool
	}{
		{reason: "an update, and the object is another owner's by then", method: http.MethodPatch, others: takes, act: change(""), refused: true},
		{reason: "an update, and the object is another one by then", method: http.MethodPatch, others: replaces, act: change(""), refused: true},
		{
			reason: "the removal of what others have added, and the object is another owner's by then", method: http.MethodPut, others: takes,
			prepare: func(w *world) { w.patch(w.configMap("a"), `{"data":{"more":"1"}}`) }, act: change(""), refused: true,
		},
		{
			reason: "a deletion for a recreation, and the object belongs to another owner by then", method: http.MethodDelete, others: takes,
			policies: "PREFIX/update-policy: recreate", act: change("PREFIX/update-policy: recreate"), refused: true,
		},
		{
			reason: "a deletion for a recreation, and the object is another one by then", method: http.MethodDelete, others: replaces,
			policies: "PREFIX/update-policy: recreate", act: change("PREFIX/update-policy: recreate"), refused: true,
		},
		{reason: "a deletion, and the object is another owner's by then", method: http.MethodDelete, others: takes, act: deletes},
		{reason: "a deletion, and the object is another one by then", method: http.MethodDelete, others: replaces, act: deletes},
		{
			reason: "the object is not wanted any more, and is another owner's by then", method: http.MethodDelete, others: takes,
			act: func(w *world) error {
				_, err := w.engine.Apply(w.Context(), w.request(""))
				return err
			},
		},
		{
			reason: "a release, and the object is another owner's by then", method: http.MethodPatch, others: takes,
			policies: "PREFIX/delete-policy: orphan", act: deletes,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			others := &interloper{method: test.method}
			w := newWorld(t, withoutObserver, others.option)
			w.mustApply(guardedManifest(test.policies, "1"))
			if test.prepare != nil {
				test.prepare(w)
			}
			var theirs *unstructured.Unstructured
			others.act = func() {
				test.others(w)
				theirs = w.configMap("a")
			}
			err := test.act(w)
			var refused *reconciler.RefusedError
			if errors.As(err, &refused) != test.refused || !test.refused && err != nil {
				t.Errorf("refused: want %t, got %v", test.refused, err)
			}
			if !others.came {
				t.Fatal("the request in question was not sent")
			}
			if diff := diffObjects(theirs, w.configMap("a")); diff != "" {
				t.Errorf("the object of others (-want +got):\n%s", diff)
			}
		})
	}
}

func deletes(w *world) error {
	_, err := w.engine.Delete(w.Context(), reconciler.DeleteRequest{Owner: w.owner})
	return err
}

// TestUpdatesDoNotCreate deletes an object between the engine's observation and its update. Creating it again is
// another decision, which needs the owner's confirmation.
func TestUpdatesDoNotCreate(t *testing.T) {
	t.Parallel()
	others := &interloper{method: http.MethodPatch}
	w := newWorld(t, withoutObserver, others.option)
	w.mustApply(guardedManifest("", "1"))
	w.owner.Confirm = func(stdcontext.Context) error { return errUnwanted }
	others.act = func() { w.remove(w.configMap("a")) }
	_, err := w.engine.Apply(t.Context(), w.request(guardedManifest("", "2")))
	expectUnwanted(t, err)
	if w.configMap("a") != nil {
		t.Error("the object was recreated")
	}
}

// TestCreationsDoNotOverwrite has another client create the object first.
func TestCreationsDoNotOverwrite(t *testing.T) {
	t.Parallel()
	for _, policies := range []string{"PREFIX/adoption-policy: never", "PREFIX/adoption-policy: if-unowned"} {
		t.Run(policies, func(t *testing.T) {
			t.Parallel()
			others := &interloper{method: http.MethodPatch}
			w := newWorld(t, withoutObserver, others.option)
			others.act = func() {
				w.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {PREFIX/owner-id: theirs}}, data: {value: theirs}}")
			}
			_, err := w.engine.Apply(t.Context(), w.request(guardedManifest(policies, "1")))
			w.expectRefusal(err, "ConfigMap NS/a: already exists and has another owner")
			if diff := diffData(map[string]any{"value": "theirs"}, w.configMap("a")); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRebuildReadsAllPages makes pages small.
func TestRebuildReadsAllPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver, func(s *setup) {
		s.config = testenv.Intercept(s.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			query := request.URL.Query()
			if query.Get("limit") != "" {
				query.Set("limit", "2")
				request = request.Clone(request.Context())
				request.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(request)
		})
	})
	w.mustApply(configMaps(7, 1))
	before := w.inventory()
	w.requests.Reset()
	result := w.rebuild(reconciler.RebuildRequest{Objects: objects(w, configMaps(1, 1))})
	if lists := w.requests.Count(func(r testenv.Request) bool { return r.Resource == "configmaps" && r.Name == "" }); result.Found != 7 || lists != 4 {
		t.Errorf("want 7 objects from 4 pages, got %d from %d", result.Found, lists)
	}
	w.mustApply(configMaps(7, 1))
	if diff := diffObjects(before, w.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	w.mustDelete()
}

// newServed applies an APIService, and returns what gets it.
func newServed(t *testing.T) (*typed, func() *unstructured.Unstructured) {
	t.Helper()
	ty := newTyped(t)
	apiService := func() *unstructured.Unstructured {
		return ty.get("apiregistration.k8s.io/v1", "APIService", "v1."+ty.group)
	}
	t.Cleanup(func() {
		if service := apiService(); service != nil {
			service.SetFinalizers(nil)
			_ = client.IgnoreNotFound(ty.client.Update(context(t), service))
			_ = client.IgnoreNotFound(ty.client.Delete(context(t), service))
		}
	})
	ty.settle(ty.expand("apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.GROUP}\n"+
		"spec: {group: GROUP, version: v1, groupPriorityMinimum: 100, versionPriority: 100}"), done)
	return ty, apiService
}

// TestAPIServiceThatIsRedundantIsKeptForInstances has an APIService as dependent, through which a type that others have
// defined is served.
func TestAPIServiceThatIsRedundantIsKeptForInstances(t *testing.T) {
	t.Parallel()
	ty, apiService := newServed(t)
	uid := apiService().GetUID()
	ty.create(ty.expand(customType))
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	for reason, act := range map[string]func() (reconciler.Result, error){
		"redundant": func() (reconciler.Result, error) { return ty.apply("") },
		"deleted":   ty.delete,
	} {
		testenv.Eventually(t, func() (bool, string) {
			result, err := act()
			if err != nil {
				return false, err.Error()
			}
			if result.Done {
				t.Fatalf("%s: the APIService went although there are instances", reason)
			}
			return strings.Contains(notices(result.Waits), "kept while there are instances of its types: Widget."+ty.group), notices(result.Waits)
		})
	}
	if service := apiService(); service == nil || service.GetUID() != uid || service.GetDeletionTimestamp() != nil {
		t.Error("expected the APIService to stay")
	}
	ty.remove(ty.widget("foreign"))
	ty.settle("", done)
	if service := apiService(); service != nil && service.GetUID() == uid {
		t.Error("expected the APIService to go when there are no instances any more")
	}
}

// TestAPIServiceThatDoesNotAnswerAnyMoreIsKept has an API stop answering that has answered before: it may have objects
// of others.
func TestAPIServiceThatDoesNotAnswerAnyMoreIsKept(t *testing.T) {
	t.Parallel()
	ty, apiService := newServed(t)
	testenv.Eventually(t, func() (bool, string) {
		return time.Since(apiService().GetCreationTimestamp().Time) > 12*time.Second, "the API may never have answered, as far as can be seen"
	})
	service := apiService()
	service.Object["spec"].(map[string]any)["service"] = map[string]any{"namespace": ty.namespace, "name": "nowhere"}
	service.Object["spec"].(map[string]any)["insecureSkipTLSVerify"] = true
	if err := ty.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	unknown := "it is not known whether there are any objects of type *." + ty.group
	testenv.Eventually(t, func() (bool, string) {
		_, err := ty.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		return err != nil && strings.Contains(err.Error(), unknown) && strings.Contains(err.Error(), "delete APIService v1."+ty.group), fmt.Sprint(err)
	})
	for reason, act := range map[string]func() (reconciler.Result, error){
		"redundant": func() (reconciler.Result, error) { return ty.apply("") },
		"deleted":   ty.delete,
	} {
		testenv.Eventually(t, func() (bool, string) {
			result, err := act()
			if result.Done {
				t.Fatalf("%s: the APIService went although nobody knows whether there are instances", reason)
			}
			return err == nil && strings.Contains(notices(result.Waits), unknown), fmt.Sprint(notices(result.Waits), err)
		})
	}
	service = apiService()
	if service == nil || service.GetDeletionTimestamp() != nil {
		t.Fatal("expected the APIService to stay")
	}
	// This is the way out that the message names.
	service.SetFinalizers(nil)
	if err := ty.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	ty.remove(apiService())
	testenv.Eventually(t, func() (bool, string) {
		result, err := ty.delete()
		return result.Done, fmt.Sprint(notices(result.Waits), err)
	})
}

// fence lets a number of writes through.
func fence(writes int64) func() error {
	var left atomic.Int64
	left.Store(writes)
	return func() error {
		if left.Add(-1) < 0 {
			return errors.New("the lease has expired")
		}
		return nil
	}
}

func expectFenced(t *testing.T, err error) {
	t.Helper()
	var fenced *reconciler.FencedError
	if !errors.As(err, &fenced) || strings.Count(err.Error(), "the lease has expired") != 1 {
		t.Errorf("expected an error that names the reason once, got %v", err)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owner.Fence = fence(7)
	_, err := w.apply(configMaps(20, 1))
	expectFenced(t, err)
	if writes := w.writes(); len(writes) != 7 {
		t.Errorf("expected the writes that were let through and no more, got %v", writes)
	}
	w.owner.Fence = nil
	w.mustApply(configMaps(20, 1))

	w.owner.Fence = fence(0)
	for reason, meddle := range map[string]func(){
		"the manifest of one changed": func() {
			_, err = w.apply(strings.Replace(configMaps(20, 1), `data: {value: "7"}`, `data: {value: "changed"}`, 1))
		},
		"one is not wanted any more": func() { _, err = w.apply(configMaps(19, 1)) },
		"all are to be deleted":      func() { _, err = w.delete() },
	} {
		w.requests.Reset()
		meddle()
		t.Log(reason)
		expectFenced(t, err)
		if writes := w.writes(); len(writes) != 0 {
			t.Errorf("%s: expected no write, got %v", reason, writes)
		}
	}
	w.owner.Fence = nil
	w.mustDelete()
}

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

const denial = `admission webhook "denying.example.com" denied the request: frozen until Monday`

// denying runs a webhook that denies one operation on the ConfigMap a of the namespace, with the status code of a
// conflict.
func (w *world) denying() (operation *atomic.Value) {
	w.Helper()
	operation = &atomic.Value{}
	operation.Store("CREATE")
	server := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var review struct {
			Request struct {
				UID       string `json:"uid"`
				Name      string `json:"name"`
				Operation string `json:"operation"`
			} `json:"request"`
		}
		_ = json.NewDecoder(request.Body).Decode(&review)
		answer := `"allowed":true`
		if review.Request.Name == "a" && review.Request.Operation == operation.Load() {
			answer = `"allowed":false,"status":{"code":409,"reason":"Conflict","message":"frozen until Monday"}`
		}
		_, _ = fmt.Fprintf(writer, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,%s}}`, review.Request.UID, answer)
	}))
	w.Cleanup(server.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	configuration := testenv.Object(w, strings.NewReplacer("URL", server.URL, "BUNDLE", bundle).Replace(w.expand(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS-denying}
webhooks:
- name: denying.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "URL", caBundle: "BUNDLE"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [configmaps]}]
`)))
	if err := w.client.Create(w.Context(), configuration); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.client.Delete(context(w), configuration) })
	testenv.Eventually(w, func() (bool, string) {
		probe := testenv.Object(w, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}"))
		err := w.client.Create(w.Context(), probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), denial), fmt.Sprintf("the webhook is not effective yet: %v", err)
	})
	return operation
}

// TestDenialsWithTheCodeOfAConflict has denials that must not be taken for changes by others.
func TestDenialsWithTheCodeOfAConflict(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: VALUE}\n"
	w := newWorld(t)
	operation := w.denying()
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), w.expand(want)+": ") || !strings.HasSuffix(err.Error(), denial) {
			t.Errorf("want %q with the reason of the webhook, got %v", want, err)
		}
	}
	w.requests.Reset()
	_, err := w.engine.Apply(t.Context(), w.request(manifest))
	expect(err, "applying ConfigMap NS/a")
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("expected one attempt, got %v", writes)
	}
	w.expectPlan(w.plan(manifest, compare), "0 Created ConfigMap NS/a: does not exist! rejected by the API server: "+denial)
	operation.Store("UPDATE")
	w.mustApply(manifest)
	_, err = w.engine.Apply(t.Context(), w.request(strings.ReplaceAll(manifest, "VALUE", "new")))
	expect(err, "applying ConfigMap NS/a")
	operation.Store("DELETE")
	_, err = w.delete()
	expect(err, "deleting ConfigMap NS/a")
	operation.Store("")
	w.mustDelete()
}

// TestObjectThatMustNotBeLookedAtHindersNoOthers has an identity without any right to one of the objects to delete.
func TestObjectThatMustNotBeLookedAtHindersNoOthers(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: theirs}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ours}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: next, annotations: {PREFIX/delete-order: "1"}}
`
	w := newWorld(t)
	w.mustApply(manifests)
	limited := newWorld(t, withoutObserver, answering("/serviceaccounts/theirs", http.StatusForbidden, metav1.StatusReasonForbidden))
	limited.owner, limited.namespace = w.owner, w.namespace

	plan, err := limited.engine.Plan(t.Context(), reconciler.ApplyRequest{Owner: limited.owner, Digest: "d"}, reconciler.PlanOptions{Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]reconciler.Verb{}
	for _, change := range plan.Changes {
		verbs[change.Object.Name] = change.Verb
		if change.Object.Name == "theirs" && !strings.HasPrefix(change.Reason, "is no longer in the manifests; it cannot be read: ") {
			t.Errorf("want the plan to say why it is not known, got %q", change.Reason)
		}
	}
	for _, name := range []string{"theirs", "ours", "next"} {
		if verbs[name] != reconciler.VerbDeleted {
			t.Errorf("want %s to be planned to be deleted, got %v", name, verbs)
		}
	}

	testenv.Eventually(t, func() (bool, string) {
		result, err := limited.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: limited.owner})
		limited.owner.Inventory = result.Inventory
		if err == nil || !strings.Contains(err.Error(), "deleting wave 0: deleting ServiceAccount "+w.namespace+"/theirs: ") {
			t.Fatalf("want to be told of the object, got %v", err)
		}
		return w.configMap("ours") == nil, "the other object of the wave is still there"
	})
	if w.configMap("next") == nil {
		t.Error("the next wave has begun, although this one is not over")
	}
	w.mustDelete()
}

const (
	ownNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-own}\n---\n"
	inside       = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: in, namespace: NS-own}\n---\n"
	besides      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: besides}\n"
)

// TestNamespaceIsHeldByWhatOthersHaveInIt keeps a namespace while its deletion would destroy objects of others.
func TestNamespaceIsHeldByWhatOthersHaveInIt(t *testing.T) {
	t.Parallel()
	const held = "kept while there are objects in it that are not dependents: "
	const hint = "; to orphan it instead of deleting it, set its annotation " + prefix + "/delete-policy to orphan"
	const theirs = "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: NS-own}\n"
	for name, tc := range map[string]struct {
		reason, content, want string
	}{
		"Secret":     {"it belongs to nobody", theirs, held + "Secret NS-own/theirs" + hint},
		"OtherOwner": {"another owner of this operator", strings.ReplaceAll(theirs, "theirs,", "theirs, labels: {PREFIX/owner-id: other},"), held + "Secret NS-own/theirs" + hint},
		"Many":       {"messages are bounded", many(5), held + "ConfigMap NS-own/c0, ConfigMap NS-own/c1, ConfigMap NS-own/c2 and more" + hint},
		"ClusterOwner": {
			"its owner is not in the namespace, and nobody knows who needs it",
			strings.ReplaceAll(theirs, "theirs,", "theirs, ownerReferences: [{apiVersion: v1, kind: Namespace, name: NS-own, uid: UID}],"), held + "Secret NS-own/theirs" + hint,
		},
		"Copy":     {"others have copied a dependent with its labels", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, namespace: NS-own, labels: {PREFIX/owner-id: LABEL}, annotations: {PREFIX/owner-id: OWNER}}\n", held + "ConfigMap NS-own/copy" + hint},
		"Owned":    {"it goes with its owner", strings.ReplaceAll(theirs, "theirs,", "theirs, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: in, uid: UID}],"), ""},
		"Standard": {"each namespace has these", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-ca-root-cert, namespace: NS-own}\n---\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: leader, namespace: NS-own}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(ownNamespace + inside + besides)
			uid := string(w.get("v1", "Namespace", "NS-own").GetUID())
			// As kubectl exports and creates it, without managed fields.
			marks := strings.NewReplacer("UID", uid, "LABEL", manifest.OwnerLabel(w.owner.ID), "OWNER", w.owner.ID)
			w.create(marks.Replace(tc.content))
			want := w.expand(tc.want)
			last := w.lines(w.plan(besides, compare))[2]
			if planned := "0 Deleted Namespace NS-own: is no longer in the manifests"; tc.want == "" && last != planned || tc.want != "" && last != planned+"; "+tc.want {
				t.Errorf("%s: planned: %s", tc.reason, last)
			}
			warnings, err := w.engine.CheckNamespaces(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
			if got := notices(warnings); err != nil || tc.want == "" && got != "" || tc.want != "" && got != "Namespace "+w.namespace+"-own: "+want {
				t.Errorf("%s: a deletion warns of %q, %v", tc.reason, got, err)
			}
			for _, end := range []func() (reconciler.Result, error){func() (reconciler.Result, error) { return w.apply(besides) }, w.delete} {
				var result reconciler.Result
				testenv.Eventually(t, func() (bool, string) {
					var err error
					result, err = end()
					return err == nil && (result.Done || tc.want != "" && strings.Contains(notices(result.Waits), "kept")), notices(result.Waits)
				})
				if tc.want == "" {
					continue
				}
				if got := notices(result.Waits); got != "Namespace "+w.namespace+"-own: "+want || result.RequeueAfter == 0 {
					t.Errorf("%s: got %s, again after %s", tc.reason, got, result.RequeueAfter)
				}
				if namespace := w.get("v1", "Namespace", "NS-own"); namespace == nil || namespace.GetDeletionTimestamp() != nil {
					t.Fatalf("%s: the namespace is deleted", tc.reason)
				}
			}
			for _, object := range testenv.Objects(t, w.expand(marks.Replace(tc.content))) {
				w.remove(object)
			}
			w.mustDelete()
			if namespace := w.get("v1", "Namespace", "NS-own"); namespace != nil && namespace.GetDeletionTimestamp() == nil {
				t.Errorf("%s: the namespace is left behind", tc.reason)
			}
		})
	}
}

func many(count int) string {
	var manifests strings.Builder
	for i := range count {
		manifests.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c" + string(rune('0'+i)) + ", namespace: NS-own}\n")
	}
	return manifests.String()
}

// TestNamespaceIsReleasedByHand is the way out for a user who wants to keep such a namespace.
func TestNamespaceIsReleasedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(ownNamespace + inside)
	w.create("apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: NS-own}\n")
	w.patch(w.get("v1", "Namespace", "NS-own"), `{"metadata":{"annotations":{"PREFIX/delete-policy":"orphan"}}}`)
	w.expectPlan(w.plan("", compare), "0 Deleted ConfigMap NS-own/in: is no longer in the manifests",
		"0 Orphaned Namespace NS-own: is no longer in the manifests; kept while there are objects in it that are not dependents: Secret NS-own/theirs; to orphan it instead of deleting it, "+
			"set its annotation "+prefix+"/delete-policy to orphan")
	w.mustDelete()
	namespace := w.get("v1", "Namespace", "NS-own")
	if namespace == nil || namespace.GetDeletionTimestamp() != nil || namespace.GetLabels()[prefix+"/owner-id"] != "" {
		t.Fatalf("expected the namespace without our mark, got %v", namespace)
	}
	w.remove(namespace)
}

// TestNamespaceIsHeldByWhatCannotBeSeen has an identity that may not list Secrets.
func TestNamespaceIsHeldByWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(ownNamespace)
	user := "restricted-" + w.namespace
	for _, object := range testenv.Objects(t, w.expand(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS}
rules:
- {apiGroups: [""], resources: [namespaces, configmaps], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS}
subjects: [{kind: User, apiGroup: `+rbacv1.GroupName+`, name: `+user+`}]
`)) {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.client.Delete(context(t), object) })
	}
	restricted := newWorld(t, withoutObserver, func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Impersonate = rest.ImpersonationConfig{UserName: user}
	})
	restricted.owner, restricted.namespace = w.owner, w.namespace
	restricted.owner.Store = restricted
	result, err := restricted.delete()
	got := notices(result.Waits)
	if err != nil || !strings.Contains(got, "kept while there are objects in it that are not dependents: objects of types that cannot be listed (") || !strings.Contains(got, ", secrets, ") ||
		strings.Contains(got, "configmaps") || strings.Contains(got, "events") {
		t.Errorf("got %v, %s", err, got)
	}
	w.mustDelete()
}

// TestNamespaceNamesWhatKeepsIt has an object in the namespace whose deletion does not end.
func TestNamespaceNamesWhatKeepsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("{apiVersion: v1, kind: Namespace, metadata: {name: NS-inner}}")
	stuck := testenv.Object(t, w.expand("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS-inner, finalizers: [example.com/stuck]}}"))
	if err := w.client.Create(t.Context(), stuck); err != nil {
		t.Fatal(err)
	}
	release := func() {
		_ = w.client.Patch(context(t), stuck, client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	t.Cleanup(release)
	w.remove(stuck)
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.delete()
		return err == nil && strings.Contains(notices(result.Waits), "being deleted: Some content in the namespace has finalizers remaining: example.com/stuck"), fmt.Sprint(notices(result.Waits), err)
	})
	release()
	w.finish(w.delete)
}

// TestOwnedByWhatDoesNotHold has an object in the namespace whose owner is a Lease, which itself does not count as
// content.
func TestOwnedByWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply("{apiVersion: v1, kind: Namespace, metadata: {name: NS-inner}}")
	lease := testenv.Object(t, w.expand("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: lock, namespace: NS-inner}}"))
	if err := w.client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	state := testenv.Object(t, w.expand("{apiVersion: v1, kind: ConfigMap, metadata: {name: state, namespace: NS-inner, ownerReferences: ["+
		"{apiVersion: coordination.k8s.io/v1, kind: Lease, name: lock, uid: "+string(lease.GetUID())+"}]}}"))
	if err := w.client.Create(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	result, err := w.delete()
	if err != nil || !strings.Contains(notices(result.Waits), "ConfigMap "+w.namespace+"-inner/state") {
		t.Errorf("expected the namespace to be held, got %q, %v", notices(result.Waits), err)
	}
	w.remove(state)
	w.finish(w.delete)
}

// sight is an observer that sees what was recorded.
type sight map[string]observe.Observation

func (sight) Watch(stdcontext.Context, string, []observe.Need) error      { return nil }
func (sight) WatchNames(stdcontext.Context, string, []observe.Name) error { return nil }
func (sight) Version(observe.Name) (string, observe.View)                 { return "", observe.Unseen }
func (sight) Guard(string, []schema.GroupVersionResource)                 {}

func (s sight) Get(_ schema.GroupVersionKind, _, name string) (observe.Observation, observe.View) {
	if seen, ok := s[name]; ok {
		return seen, observe.Present
	}
	return observe.Observation{}, observe.Absent
}

func (s sight) Record(_ schema.GroupVersionKind, _, name string, observation observe.Observation) {
	s[name] = observation
}
