// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// interloper acts once, right before the engine sends a certain request about ConfigMap a, after it has observed the object and
// decided.
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

// TestGuardedWritesLoseToNewerContent has others act between the engine's observation of an object and its write, for each kind
// of write. The engine must not change an object in a state that it has not observed.
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

// TestUpdatesDoNotCreate deletes an object between the engine's observation and its update. Creating it again is another
// decision, which needs the owner's confirmation.
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
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				query := request.URL.Query()
				if query.Get("limit") != "" {
					query.Set("limit", "2")
					request = request.Clone(request.Context())
					request.URL.RawQuery = query.Encode()
				}
				return next.RoundTrip(request)
			})
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

// TestAPIServiceThatIsRedundantIsKeptForInstances has an APIService as dependent, through which a type that others have defined
// is served.
func TestAPIServiceThatIsRedundantIsKeptForInstances(t *testing.T) {
	t.Parallel()
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
	done := func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) }
	manifest := ty.expand(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.GROUP}
spec: {group: GROUP, version: v1, groupPriorityMinimum: 100, versionPriority: 100}
`)
	ty.settle(manifest, done)
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

// TestAPIServiceThatDoesNotAnswerAnyMoreIsKept has an API stop answering that has answered before: it may have objects of others.
func TestAPIServiceThatDoesNotAnswerAnyMoreIsKept(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifest := ty.expand(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.GROUP}
spec: {group: GROUP, version: v1, groupPriorityMinimum: 100, versionPriority: 100}
`)
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
	ty.settle(manifest, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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
