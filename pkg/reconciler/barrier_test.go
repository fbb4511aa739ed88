// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const (
	awaited   = "making sure that no instance of its type is created"
	kept      = "kept while there are instances of its types"
	definable = "/customresourcedefinitions/"
)

// before returns an option that calls a function right before each matching request.
func before(fits func(*http.Request) bool, do func()) option {
	return func(s *setup) {
		s.config = testenv.Intercept(s.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if fits(request) {
				do()
			}
			return next.RoundTrip(request)
		})
	}
}

// answering returns an option that answers requests for a path with an error.
func answering(path string, code int, reason metav1.StatusReason) option {
	return answeringWhere(func(request *http.Request) bool { return strings.Contains(request.URL.Path, path) }, code, reason)
}

func answeringWhere(matches func(*http.Request) bool, code int, reason metav1.StatusReason) option {
	return func(s *setup) {
		s.config = testenv.Intercept(s.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !matches(request) {
				return next.RoundTrip(request)
			}
			body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
			return &http.Response{
				StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
				Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
			}, nil
		})
	}
}

func deletesDefinition(request *http.Request) bool {
	return request.Method == http.MethodDelete && strings.Contains(request.URL.Path, definable)
}

// barriers returns the kinds of what is there of the barriers of the owner.
func (ty *typed) barriers() []string {
	ty.Helper()
	var kinds []string
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind + "List"})
		if err := ty.client.List(context(ty), list, client.MatchingLabels{prefix + "/barrier-owner-id": manifest.OwnerLabel(ty.owner.ID)}); err != nil {
			ty.Fatal(err)
		}
		for range list.Items {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (ty *typed) expectNoBarrier() {
	ty.Helper()
	if left := ty.barriers(); len(left) > 0 {
		ty.Errorf("expected that nothing keeps instances from being created any more, got %v", left)
	}
	for _, item := range ty.owner.Inventory {
		if item.Barrier != "" {
			ty.Errorf("expected that no barrier is recorded, got %s of %s", item.Barrier, item)
		}
	}
}

// tryCreate creates an instance as another client.
func (ty *typed) tryCreate(name string) error {
	ty.Helper()
	object := testenv.Objects(ty, ty.expand(strings.ReplaceAll(widget, "NAME", name)))[0]
	object.SetNamespace(ty.namespace)
	return ty.client.Create(context(ty), object)
}

// defined applies the definition, and waits until instances can be created.
func (ty *typed) defined(manifests string) {
	ty.Helper()
	ty.settle(manifests, done)
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "first")))
	ty.remove(ty.widget("first"))
}

// until makes passes until one waits with a message that contains the text.
func (ty *typed) until(pass func() (reconciler.Result, error), text string) {
	ty.Helper()
	testenv.Eventually(ty, func() (bool, string) {
		result, err := pass()
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(notices(result.Waits), text), "waits: " + notices(result.Waits)
	})
}

// TestInstancesAreNotCreatedWhileTheirTypeIsDeleted creates an instance between the last list of instances and the
// deletion.
func TestInstancesAreNotCreatedWhileTheirTypeIsDeleted(t *testing.T) {
	t.Parallel()
	for _, redundant := range []bool{false, true} {
		t.Run(fmt.Sprintf("redundant=%t", redundant), func(t *testing.T) {
			t.Parallel()
			var ty *typed
			var once sync.Once
			var err error
			ty = newTyped(t, before(deletesDefinition, func() { once.Do(func() { err = ty.tryCreate("late") }) }))
			ty.defined(ty.expand(customType))
			pass := ty.delete
			if redundant {
				pass = func() (reconciler.Result, error) { return ty.apply("") }
			}
			ty.finish(pass)
			if err == nil {
				t.Fatal("an instance was created, and destroyed")
			}
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "CustomResourceDefinition widgets."+ty.group+" is being deleted by "+prefix+" ("+ty.owner.ID+")") {
				t.Errorf("expected to be told who deletes the type, got %v", err)
			}
			ty.expectNoBarrier()
		})
	}
}

func TestBarrierIsLiftedWhenTheTypeStays(t *testing.T) {
	t.Parallel()
	manifests := func(ty *typed) string { return ty.expand(customType) }
	for _, test := range []struct {
		reason string
		act    func(ty *typed)
	}{
		{"it is wanted again", func(ty *typed) { ty.mustApply(manifests(ty)) }},
		{"it is orphaned", func(ty *typed) {
			for _, item := range ty.owner.Inventory {
				item.DeletePolicy = reconciler.DeletePolicyOrphan
			}
			ty.mustDelete()
		}},
		{"another dependent is not ready", func(ty *typed) {
			const unbound = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: unbound}, " +
				"spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
			if result, err := ty.apply(unbound); err != nil || result.Done {
				ty.Errorf("expected to wait for the claim, got %t and error %v", result.Done, err)
			}
		}},
		{"the next manifests are refused", func(ty *typed) {
			if _, err := ty.apply(ty.expand("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {PREFIX/update-policy: nonsense}}}")); err == nil {
				ty.Error("expected a refusal")
			}
		}},
		{"its deletion is given up", func(ty *typed) {
			inventory, err := ty.engine.LiftBarriers(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
			if err != nil {
				ty.Fatal(err)
			}
			ty.owner.Inventory = inventory
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, func(s *setup) { s.pause = time.Hour })
			ty.defined(manifests(ty))
			ty.until(func() (reconciler.Result, error) { return ty.apply("") }, awaited)
			testenv.Eventually(t, func() (bool, string) {
				err := ty.tryCreate("denied")
				if err == nil {
					ty.remove(ty.widget("denied"))
				}
				return err != nil, "nothing denies instances"
			})
			if _, err := ty.apply(""); err != nil || ty.definition().GetDeletionTimestamp() != nil {
				t.Fatalf("expected the type to be there for as long as the pause takes, got %v", err)
			}
			test.act(ty)
			ty.expectNoBarrier()
			testenv.Eventually(t, func() (bool, string) {
				err := ty.tryCreate("allowed")
				return err == nil, fmt.Sprint(err)
			})
			if crd := ty.definition(); crd == nil || crd.GetDeletionTimestamp() != nil {
				t.Error("expected the type to stay")
			}
		})
	}
}

// recreated is a type whose definition is recreated when its manifest changes.
func recreated(ty *typed, value string) string {
	return ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/update-policy: recreate, value: "+value+"}}", 1))
}

func TestRecreationOfATypeHasABarrier(t *testing.T) {
	t.Parallel()
	var ty *typed
	var err error
	ty = newTyped(t, before(deletesDefinition, func() { err = ty.tryCreate("late") }))
	ty.defined(recreated(ty, "a"))
	uid := ty.definition().GetUID()
	instances := "---" + strings.ReplaceAll(widget, "NAME", "own")
	ty.mustApply(recreated(ty, "b") + ty.expand(instances))
	if err == nil {
		t.Error("an instance was created, and destroyed")
	}
	if ty.definition().GetUID() == uid || ty.widget("own") == nil {
		t.Error("expected a new definition, and an instance of it")
	}
	ty.expectNoBarrier()
}

func TestTypesAreDeletedWithoutBarrierIfThereCannotBeOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, path, text string }{
		{"no right to create policies", "/validatingadmissionpolicies/", "no"},
		{"no right to create ConfigMaps", "/configmaps", "checking whether the barrier"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, answering(test.path, http.StatusForbidden, metav1.StatusReasonForbidden), withoutObserver)
			ty.defined(ty.expand(customType))
			var noted string
			testenv.Eventually(t, func() (bool, string) {
				result, err := ty.delete()
				noted += notices(result.Notes)
				return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
			})
			if strings.Count(noted, "is deleted without a barrier") != 1 || !strings.Contains(noted, test.text) {
				t.Errorf("expected to be told once, got %q", noted)
			}
			testenv.Eventually(t, func() (bool, string) {
				left := ty.barriers()
				return len(left) == 0, fmt.Sprint("left behind: ", left)
			})
		})
	}
}

// TestDeathWhileATypeIsDeleted lets the process die after each of its writes.
func TestDeathWhileATypeIsDeleted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		next   func(ty *typed)
	}{
		{"it goes on", func(ty *typed) {
			ty.mustApply("")
			if crd := ty.definition(); crd != nil {
				ty.Error("the type was left behind")
			}
		}},
		{"the type is wanted again", func(ty *typed) {
			ty.mustApply(ty.expand(customType))
			if crd := ty.definition(); crd == nil || crd.GetDeletionTimestamp() != nil {
				ty.Error("expected the type to be there")
			}
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			for survived, done := 0, false; !done; survived++ {
				ty := newTyped(t)
				ty.defined(ty.expand(customType))
				mortal := ty.mortal(survived)
				testenv.Eventually(t, func() (bool, string) {
					result, err := mortal.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: mortal.owner, Digest: "d"})
					if err != nil {
						return true, "" // what this pass returns is lost
					}
					mortal.owner.Inventory, ty.owner.Inventory = result.Inventory, result.Inventory
					done = result.Done
					return done, notices(result.Waits)
				})
				test.next(ty)
				ty.expectNoBarrier()
				// How many requests it takes to see that the barrier is enforced depends on how fast these are
				// answered.
				if survived > 60 {
					t.Fatal("the deletion does not come to an end")
				}
			}
		})
	}
}

// TestInstancesCreatedAtRandomMoments has others create instances at random moments of the deletion of their type. The
// deletion must not destroy an instance that was created.
func TestInstancesCreatedAtRandomMoments(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, func(s *setup) { s.pause = 200 * time.Millisecond })
			for range 2 {
				ty.round()
			}
		})
	}
}

// round defines the type, and deletes it again while others create instances.
func (ty *typed) round() {
	ty.Helper()
	ty.mustApply(ty.expand(customType))
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "first")))
	ty.remove(ty.widget("first"))
	var creators sync.WaitGroup
	created := make([]bool, 3)
	for i := range created {
		moment := time.Duration(rand.Int64N(int64(2 * time.Second)))
		creators.Go(func() {
			time.Sleep(moment)
			created[i] = ty.tryCreate(fmt.Sprint("i", i)) == nil
		})
	}
	idle := make(chan struct{})
	go func() {
		creators.Wait()
		close(idle)
	}()
	// The deletion ends, or an instance keeps the type although no more are created.
	testenv.Eventually(ty, func() (bool, string) {
		isIdle := false
		select {
		case <-idle:
			isIdle = true
		default:
		}
		result, err := ty.delete()
		if err != nil {
			return false, err.Error()
		}
		waits := notices(result.Waits)
		return isIdle && (result.Done || strings.Contains(waits, kept)), waits
	})
	for i, exists := range created {
		instance := ty.widget(fmt.Sprint("i", i))
		switch {
		case exists && (instance == nil || instance.GetDeletionTimestamp() != nil):
			ty.Errorf("instance %d was created, and destroyed", i)
		case exists:
			ty.remove(instance)
		}
	}
	ty.mustDelete()
}
