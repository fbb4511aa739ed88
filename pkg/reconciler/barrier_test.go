// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/requests"
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
		s.config = rest.CopyConfig(s.config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if fits(request) {
					do()
				}
				return next.RoundTrip(request)
			})
		})
	}
}

// answering returns an option that answers requests for a path with an error.
func answering(path string, code int, reason metav1.StatusReason) option {
	return answeringWhere(func(request *http.Request) bool { return strings.Contains(request.URL.Path, path) }, code, reason)
}

func answeringWhere(matches func(*http.Request) bool, code int, reason metav1.StatusReason) option {
	return func(s *setup) {
		s.config = rest.CopyConfig(s.config)
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if !matches(request) {
					return next.RoundTrip(request)
				}
				body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
				return &http.Response{
					StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
					Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
				}, nil
			})
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
		if err := ty.client.List(context(ty), list, client.MatchingLabels{prefix + "/barrier-owner-id": digest.OwnerLabel(ty.owner.ID)}); err != nil {
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
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
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

// TestInstancesAreNotCreatedWhileTheirTypeIsDeleted creates an instance between the last list of instances and the deletion.
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
			testenv.Eventually(t, func() (bool, string) {
				result, err := pass()
				return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
			})
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

func TestInstancesThatCameBeforeTheBarrierKeepTheirType(t *testing.T) {
	t.Parallel()
	var ty *typed
	var once sync.Once
	binds := func(request *http.Request) bool {
		return request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/validatingadmissionpolicybindings/")
	}
	ty = newTyped(t, before(binds, func() {
		once.Do(func() {
			if err := ty.tryCreate("early"); err != nil {
				t.Errorf("expected that nothing denies it yet, got %v", err)
			}
		})
	}))
	ty.defined(ty.expand(customType) + configMaps(1, 1))
	ty.until(ty.delete, awaited)
	if ty.configMap("c0") == nil {
		t.Error("what comes after the type is not deleted before it is certain that the type goes")
	}
	if err := ty.client.Create(t.Context(), testenv.Objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: "+ty.namespace+"}")[0]); err != nil {
		t.Errorf("ConfigMaps are nobody's instances: %v", err)
	}
	ty.until(ty.delete, kept)
	ty.expectNoBarrier()
	if ty.widget("early") == nil {
		t.Error("expected the instance to be there")
	}
	testenv.Eventually(t, func() (bool, string) {
		err := ty.tryCreate("later")
		return err == nil, fmt.Sprint(err)
	})
	ty.remove(ty.widget("later"))
	ty.remove(ty.widget("early"))
	ty.mustDelete()
	ty.expectNoBarrier()
}

func TestBarrierIsLiftedWhenTheTypeStays(t *testing.T) {
	t.Parallel()
	manifests := func(ty *typed) string { return ty.expand(customType) }
	orphaned := func(ty *typed) string {
		return ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/delete-policy: orphan}}", 1))
	}
	for _, test := range []struct {
		reason string
		act    func(ty *typed)
	}{
		{"it is wanted again", func(ty *typed) { ty.mustApply(manifests(ty)) }},
		{"it is wanted again, and orphaned then", func(ty *typed) {
			ty.mustApply(orphaned(ty))
			ty.mustDelete()
		}},
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

func TestRecreationThatIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, func(s *setup) { s.pause = time.Hour })
	ty.defined(recreated(ty, "a"))
	ty.until(func() (reconciler.Result, error) { return ty.apply(recreated(ty, "b")) }, awaited)
	// What the process has learnt is lost.
	heir := newTyped(t)
	heir.owner, heir.namespace, heir.group = ty.owner, ty.namespace, ty.group
	heir.owner.Store = heir
	plain := strings.Replace(recreated(ty, "a"), "recreate", "replace", 1)
	heir.mustApply(plain)
	heir.expectNoBarrier()
}

func TestTypesAreDeletedWithoutBarrierIfThereCannotBeOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, path string
		code         int
		status       metav1.StatusReason
		text         string
	}{
		{"no right to create policies", "/validatingadmissionpolicies/", http.StatusForbidden, metav1.StatusReasonForbidden, "no"},
		{"no right to bind them", "/validatingadmissionpolicybindings/", http.StatusForbidden, metav1.StatusReasonForbidden, "no"},
		{"no right to create ConfigMaps", "/configmaps", http.StatusForbidden, metav1.StatusReasonForbidden, "checking whether the barrier"},
		{"no such API", "/validatingadmissionpolicies/", http.StatusNotFound, metav1.StatusReasonNotFound, "no"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t, answering(test.path, test.code, test.status), withoutObserver)
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

func TestRemovedBarrierIsRestored(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Now())
	ty := newTyped(t, func(s *setup) { s.pause = time.Hour }, withOptions(func(o *reconciler.Options) { o.Clock = now }))
	ty.defined(ty.expand(customType))
	denied := func() {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			if _, err := ty.delete(); err != nil {
				return false, err.Error()
			}
			err := ty.tryCreate("denied")
			if err == nil {
				ty.remove(ty.widget("denied"))
			}
			return apierrors.IsForbidden(err), fmt.Sprint(err)
		})
	}
	denied()
	policy := &metav1.PartialObjectMetadata{}
	policy.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"})
	policy.SetName(ty.owner.Inventory[0].Barrier)
	ty.remove(policy)
	now.SetTime(now.Now().Add(time.Minute))
	testenv.Eventually(t, func() (bool, string) {
		_, err := ty.delete()
		return err == nil && len(ty.barriers()) == 2, fmt.Sprint(err)
	})
	denied()
	if _, err := ty.engine.LiftBarriers(t.Context(), reconciler.DeleteRequest{Owner: ty.owner}); err != nil {
		t.Error(err)
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
				mortal := newWorld(t, func(s *setup) { s.config = dying(s.config, survived) })
				mortal.owner, mortal.namespace = ty.owner, ty.namespace
				mortal.owner.Store = ty
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
				// How many requests it takes to see that the barrier is enforced depends on how fast these are answered.
				if survived > 60 {
					t.Fatal("the deletion does not come to an end")
				}
			}
		})
	}
}
