// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// restricted makes a world whose cache observes as a user without any rights.
func restricted(t *testing.T) (*world, string) {
	user := testenv.UniqueName(t)
	return newWorld(t, func(config *rest.Config) {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}), user
}

// as returns a client of the user.
func (w *world) as(user string) client.Client {
	w.Helper()
	config := testenv.Config(w)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	clnt, err := client.New(config, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	return clnt
}

// grant lets the user list and watch ConfigMaps in a namespace.
func (w *world) grant(user, namespace string) {
	w.Helper()
	w.grantVerbs(user, namespace, "list", "watch")
}

// grantVerbs gives the user rights to ConfigMaps in a namespace.
func (w *world) grantVerbs(user, namespace string, verbs ...string) {
	w.Helper()
	meta := metav1.ObjectMeta{Name: user, Namespace: namespace}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		},
	} {
		if err := w.client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

func TestNamespacesWhereTheClusterIsForbidden(t *testing.T) {
	t.Parallel()
	w, user := restricted(t)
	other := testenv.Namespace(t)
	w.grant(user, w.namespace)
	testenv.Eventually(t, func() (bool, string) {
		w.watch("o", need(configMaps, w.namespace, other))
		_, view := w.get("a")
		return view == observe.Absent, "the granted namespace is not watched"
	})
	if modes := w.cache.Modes(); len(modes) != 1 || modes[0] != "ConfigMap: watched in namespaces "+w.namespace {
		t.Errorf("modes: %v", modes)
	}
	if _, view := w.cache.Get(configMaps, other, "a"); view != observe.Unseen {
		t.Errorf("the other namespace is forbidden, so that only the server knows; got %v", view)
	}
	before := w.count("o")
	w.write("o", "a", "1")
	w.awaitNews("o", before)
	if _, view := w.get("a"); view != observe.Present {
		t.Errorf("got %v", view)
	}
	// A namespace that comes later is watched as well.
	w.grant(user, other)
	testenv.Eventually(t, func() (bool, string) {
		_, view := w.cache.Get(configMaps, other, "a")
		return view == observe.Absent, "the namespace that was granted later is not watched"
	})
	want := []string{w.namespace, other}
	slices.Sort(want)
	if modes := w.cache.Modes(); modes[0] != "ConfigMap: watched in namespaces "+strings.Join(want, ", ") {
		t.Errorf("modes: %v", modes)
	}
	w.grantCluster(user, "list", "watch")
	testenv.Eventually(t, func() (bool, string) {
		modes := strings.Join(w.cache.Modes(), "")
		return modes == "ConfigMap: watched in the whole cluster", modes
	})
	testenv.Eventually(t, func() (bool, string) {
		logs := w.logged()
		return strings.Contains(logs[len(logs)-1], "can now be watched in the whole cluster"), strings.Join(logs, "\n")
	})
}

// grantCluster gives the user rights to ConfigMaps in all namespaces.
func (w *world) grantCluster(user string, verbs ...string) {
	w.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := w.client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), object) })
	}
}

// TestListsWithoutWatchAreNoMode has a user who may list objects, but not watch them.
func TestListsWithoutWatchAreNoMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reason string
		grant  func(w *world, user string)
	}{
		{"nothing is allowed", nil},
		{"all lists are allowed", func(w *world, user string) { w.grantCluster(user, "list") }},
		{"lists of the namespace are allowed", func(w *world, user string) { w.grantVerbs(user, w.namespace, "list") }},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			w, user := restricted(t)
			if tt.grant != nil {
				tt.grant(w, user)
				testenv.Eventually(t, func() (bool, string) {
					may := w.as(user)
					return may.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.namespace)) == nil, "the user may not list"
				})
			}
			w.watch("o", need(configMaps, w.namespace))
			w.write("o", "a", "1")
			for range 3 {
				_, before := w.watches("configmaps")
				testenv.Eventually(t, func() (bool, string) {
					_, lists := w.watches("configmaps")
					return lists > before+1, "no further attempts"
				})
				w.watch("o", need(configMaps, w.namespace))
				if _, view := w.get("a"); view != observe.Unseen {
					t.Errorf("nobody watches, so that only the server knows; got %v", view)
				}
			}
			if logs := w.logged(); len(logs) != 1 || !strings.Contains(logs[0], "read one by one (") || !strings.Contains(logs[0], "forbidden") {
				t.Errorf("want one line, got %d: %s", len(logs), strings.Join(logs, "\n"))
			}
		})
	}
}

// TestCloseEndsEverything is not parallel, because it counts goroutines.
func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t)
	before := runtime.NumGoroutine()
	w.watch("o", need(configMaps, w.namespace), need(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}), need(schema.GroupVersionKind{Group: "none.example.com", Version: "v1", Kind: "None"}))
	names := []observe.Name{{GroupVersionKind: configMaps, Namespace: w.namespace, Name: "a"}}
	if err := w.cache.WatchNames(t.Context(), "o", names); err != nil {
		t.Fatal(err)
	}
	w.cache.Close()
	notified := w.count("o")
	testenv.Eventually(t, func() (bool, string) {
		buffer := make([]byte, 1<<20)
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		left := strings.Count(stacks, "internal/observe.(*")
		return left == 0, stacks
	})
	w.write("o", "a", "1")
	if got := w.count("o"); got != notified {
		t.Errorf("nobody is notified after the end, got %d", got-notified)
	}
	t.Logf("goroutines: %d before, %d after", before, runtime.NumGoroutine())
}

// TestUnusedNamespacesAreNotWatched has an owner move from one namespace to another.
func TestUnusedNamespacesAreNotWatched(t *testing.T) {
	t.Parallel()
	w, user := restricted(t)
	other := testenv.Namespace(t)
	w.grant(user, w.namespace)
	w.grant(user, other)
	for _, owners := range []map[string]string{{"o": w.namespace, "p": w.namespace}, {"o": other, "p": w.namespace}, {"o": other, "p": other}, {"o": w.namespace}} {
		want := map[string]bool{}
		for _, owner := range []string{"o", "p"} {
			if namespace := owners[owner]; namespace != "" {
				w.watch(owner, need(configMaps, namespace))
				want[namespace] = true
			} else {
				w.watch(owner)
			}
		}
		mode := "ConfigMap: watched in namespaces " + strings.Join(slices.Sorted(maps.Keys(want)), ", ")
		testenv.Eventually(t, func() (bool, string) {
			modes := w.cache.Modes()
			return len(modes) == 1 && modes[0] == mode, fmt.Sprintf("%v instead of %s", modes, mode)
		})
	}
}
