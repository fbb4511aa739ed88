// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// referenceRig is a watcher over a namespace, and the owners that it has notified.
type referenceRig struct {
	*observe.ReferenceWatcher
	t         *testing.T
	client    client.Client
	namespace string
	requests  *testenv.Requests

	mu       sync.Mutex
	notified map[string]int
}

func newReferenceRig(t *testing.T, change func(*rest.Config)) *referenceRig {
	t.Helper()
	config, requests := testenv.CountingConfig(t)
	r := &referenceRig{t: t, client: testenv.Client(t), namespace: testenv.Namespace(t), requests: requests, notified: map[string]int{}}
	if change != nil {
		change(config)
	}
	reader, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.ReferenceWatcher = observe.NewReferenceWatcher(observe.ReferenceOptions{
		Reader: reader, Metadata: metadata.NewForConfigOrDie(config),
		Notify: func(owner apitypes.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notified[owner.Name]++
		},
	})
	t.Cleanup(r.Close)
	return r
}

func referenceOwner(name string) apitypes.NamespacedName { return apitypes.NamespacedName{Name: name} }

func (r *referenceRig) key(kind observe.ReferenceKind, name string) observe.ReferenceKey {
	return observe.ReferenceKey{Kind: kind, Namespace: r.namespace, Name: name}
}

func (r *referenceRig) secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, Data: map[string][]byte{"value": []byte(value)}}
}

func (r *referenceRig) do(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *referenceRig) read(key observe.ReferenceKey) string {
	r.t.Helper()
	content, err := r.Read(r.t.Context(), referenceOwner("a"), key)
	if apierrors.IsNotFound(err) {
		return "absent"
	}
	r.do(err)
	return string(content.Data["value"])
}

// awaitNotice waits until the owner was notified, and forgets all notices.
func (r *referenceRig) awaitNotice(name string) {
	r.t.Helper()
	testenv.Eventually(r.t, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		defer clear(r.notified)
		return r.notified[name] > 0, fmt.Sprintf("%s was not notified", name)
	})
}

// awaitCalm waits until reading the key needs no request.
func (r *referenceRig) awaitCalm(key observe.ReferenceKey) {
	r.t.Helper()
	testenv.Eventually(r.t, func() (bool, string) {
		r.requests.Reset()
		r.read(key)
		return len(r.requests.All()) == 0, r.requests.String()
	})
	time.Sleep(100 * time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.notified)
}

func TestOwnersAreNotifiedOfWhatTheyUse(t *testing.T) {
	t.Parallel()
	r := newReferenceRig(t, nil)
	used, other := r.key(observe.ReferencedSecret, "used"), r.key(observe.ReferencedSecret, "other")
	r.Use(referenceOwner("a"), []observe.ReferenceKey{used})
	r.Use(referenceOwner("b"), []observe.ReferenceKey{other})
	if got := r.read(used); got != "absent" {
		t.Fatal(got)
	}

	r.do(r.client.Create(t.Context(), r.secret("used", "1")))
	r.awaitNotice("a")
	if got := r.read(used); got != "1" {
		t.Errorf("got %q after the creation", got)
	}
	r.awaitCalm(used)

	r.do(r.client.Update(t.Context(), r.secret("used", "2")))
	r.awaitNotice("a")
	if got := r.read(used); got != "2" {
		t.Errorf("got %q after the change", got)
	}
	r.awaitCalm(used)

	r.do(r.client.Create(t.Context(), r.secret("unused", "1")))
	r.do(r.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "used"}}))
	r.do(r.client.Create(t.Context(), r.secret("other", "1")))
	r.awaitNotice("b")
	r.mu.Lock()
	if r.notified["a"] > 0 {
		t.Error("a was notified of what it does not use")
	}
	r.mu.Unlock()

	r.do(r.client.Delete(t.Context(), r.secret("used", "")))
	r.awaitNotice("a")
	if got := r.read(used); got != "absent" {
		t.Errorf("got %q after the deletion", got)
	}
}

func TestWatchesEndWithTheLastOwner(t *testing.T) {
	t.Parallel()
	r := newReferenceRig(t, nil)
	key := r.key(observe.ReferencedConfigMap, "used")
	r.do(r.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "used"}, Data: map[string]string{"value": "1"}}))
	r.Use(referenceOwner("a"), []observe.ReferenceKey{key})
	r.Use(referenceOwner("b"), []observe.ReferenceKey{key})
	r.awaitCalm(key)
	r.Use(referenceOwner("a"), nil)
	r.awaitCalm(key)
	r.Use(referenceOwner("b"), nil)
	r.requests.Reset()
	if got := r.read(key); got != "1" {
		t.Errorf("got %q without a watch", got)
	}
	if count := r.requests.Count(func(request testenv.Request) bool { return request.Name == "used" }); count != 1 {
		t.Errorf("want one read once nothing is watched, got\n%s", r.requests)
	}
	// One watch for two owners.
	r.requests.Reset()
	r.Use(referenceOwner("a"), []observe.ReferenceKey{key})
	r.Use(referenceOwner("b"), []observe.ReferenceKey{key, r.key(observe.ReferencedConfigMap, "other")})
	r.awaitCalm(key)
}

// restrictedReader lets a user read Secrets one by one, and returns the role.
func restrictedReader(r *referenceRig, user string) *rbacv1.Role {
	r.t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
	}
	r.do(r.client.Create(r.t.Context(), role))
	r.do(r.client.Create(r.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}))
	return role
}

func TestWhereWatchingIsForbiddenContentIsReadEachTime(t *testing.T) {
	t.Parallel()
	user := "reader-" + testenv.UniqueName(t)
	r := newReferenceRig(t, func(config *rest.Config) { config.Impersonate.UserName = user })
	role := restrictedReader(r, user)
	r.do(r.client.Create(t.Context(), r.secret("used", "1")))
	key := r.key(observe.ReferencedSecret, "used")
	r.Use(referenceOwner("a"), []observe.ReferenceKey{key})
	want := []string{"Secrets"}
	testenv.Eventually(t, func() (bool, string) {
		return slices.Equal(r.Unwatched(referenceOwner("a")), want), fmt.Sprint(r.Unwatched(referenceOwner("a")))
	})
	testenv.Eventually(t, func() (bool, string) {
		_, err := r.Read(t.Context(), referenceOwner("a"), key)
		return err == nil, fmt.Sprint(err)
	})
	r.do(r.client.Update(t.Context(), r.secret("used", "2")))
	if got := r.read(key); got != "2" {
		t.Errorf("got %q, which is outdated", got)
	}

	// Once it is allowed, it is watched.
	role.Rules[0].Verbs = []string{"get", "list", "watch"}
	r.do(r.client.Update(t.Context(), role))
	r.awaitCalm(key)
	if unwatched := r.Unwatched(referenceOwner("a")); len(unwatched) > 0 {
		t.Errorf("want everything to be watched, got %v", unwatched)
	}
}

// TestEachOwnerIsToldWhatItHasNotSeen is about objects that change while nothing is watched, and that another owner
// reads before they are watched again.
func TestEachOwnerIsToldWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	user := "reader-" + testenv.UniqueName(t)
	r := newReferenceRig(t, func(config *rest.Config) { config.Impersonate.UserName = user })
	role := restrictedReader(r, user)
	changed, gone, come := r.key(observe.ReferencedSecret, "changed"), r.key(observe.ReferencedSecret, "gone"), r.key(observe.ReferencedSecret, "come")
	r.do(r.client.Create(t.Context(), r.secret("changed", "1")))
	r.do(r.client.Create(t.Context(), r.secret("gone", "1")))
	read := func(name string, key observe.ReferenceKey, want string) {
		t.Helper()
		r.Use(referenceOwner(name), []observe.ReferenceKey{key})
		testenv.Eventually(t, func() (bool, string) {
			content, err := r.Read(t.Context(), referenceOwner(name), key)
			if apierrors.IsNotFound(err) {
				return want == "absent", "absent"
			}
			return err == nil && string(content.Data["value"]) == want, fmt.Sprint(err)
		})
	}
	read("a", changed, "1")
	read("b", gone, "1")
	read("c", come, "absent")
	r.do(r.client.Update(t.Context(), r.secret("changed", "2")))
	r.do(r.client.Delete(t.Context(), r.secret("gone", "")))
	r.do(r.client.Create(t.Context(), r.secret("come", "1")))
	read("x", changed, "2")
	read("y", gone, "absent")
	read("z", come, "1")

	role.Rules[0].Verbs = []string{"get", "list", "watch"}
	r.do(r.client.Update(t.Context(), role))
	want := map[string]int{"a": 1, "b": 1, "c": 1}
	testenv.Eventually(t, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return maps.Equal(want, r.notified), fmt.Sprintf("want %v to be notified, got %v", want, r.notified)
	})
}
