// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

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

// TestPlanOfTypeWhoseInstancesMustNotBeListed has an identity that cannot find out whether a type may be deleted.
func TestPlanOfTypeWhoseInstancesMustNotBeListed(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, answering("/v1/widgets", http.StatusForbidden, metav1.StatusReasonForbidden))
	ty.mustApply(ty.expand(customType))
	plan, err := ty.engine.Plan(t.Context(), ty.request("{}"), reconciler.PlanOptions{Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	const reason = "is no longer in the manifests; it is not known whether there are instances of its types: listing instances of Widget."
	if change := plan.Changes[0]; change.Verb != reconciler.VerbDeleted || !strings.HasPrefix(change.Reason, reason) {
		t.Errorf("want the plan to say what is not known, got %s, %q", change.Verb, change.Reason)
	}
}

// TestRefusalDoesNotEndWhatMayPass deletes an object that needs a decision of the user, and one that the server does not answer
// for at the moment.
func TestRefusalDoesNotEndWhatMayPass(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: unanswered}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: anew, finalizers: [example.com/waits]}
`
	w := newWorld(t, withoutObserver)
	w.mustApply(manifests)
	anew := w.configMap("anew")
	limited := newWorld(t, withoutObserver, answering("/serviceaccounts/unanswered", http.StatusInternalServerError, metav1.StatusReasonInternalError))
	limited.owner, limited.namespace = w.owner, w.namespace
	if _, err := limited.delete(); err == nil {
		t.Error("want an error")
	}
	w.patch(w.configMap("anew"), `{"metadata":{"finalizers":null}}`)
	anew.SetUID("")
	anew.SetResourceVersion("")
	anew.SetManagedFields(nil)
	anew.SetFinalizers(nil)
	if err := w.client.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	_, err := limited.delete()
	var refused *reconciler.RefusedError
	if err == nil || !strings.Contains(err.Error(), "unanswered") || !strings.Contains(err.Error(), "was recreated by another client") || errors.As(err, &refused) {
		t.Errorf("want to be told of both objects, and to try again, got %v", err)
	}
	w.remove(anew)
	w.owner = limited.owner
	w.mustDelete()
}

// TestForbiddenWatchIsSaidOnce makes passes as an identity that may do everything with ConfigMaps except watch them.
func TestForbiddenWatchIsSaidOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := "restricted-" + w.namespace
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, create, update, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS}
subjects: [{kind: User, apiGroup: ` + rbacv1.GroupName + `, name: ` + user + `}]
`
	for _, object := range testenv.Objects(t, w.expand(role)) {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.client.Delete(context(t), object) })
	}
	lines := make(chan string, 1000)
	restricted := w.restart(
		func(s *setup) {
			s.config = rest.CopyConfig(s.config)
			s.config.Impersonate = rest.ImpersonationConfig{UserName: user}
		},
		withOptions(func(o *reconciler.Options) {
			o.Log = funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
		}),
	)
	lists := func() int {
		return restricted.requests.Count(func(r testenv.Request) bool {
			return r.Method == http.MethodGet && r.Resource == "configmaps" && r.Name == "" && !r.IsWatch()
		})
	}
	for pass := range 4 {
		restricted.mustApply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {pass: \"%d\"}}", pass))
		before := lists()
		testenv.Eventually(t, func() (bool, string) { return lists() > before, "the watch is not tried again" })
	}
	restricted.mustDelete()
	var said []string
	for len(lines) > 0 {
		said = append(said, <-lines)
	}
	if len(said) != 1 || !strings.Contains(said[0], `"mode"="read one by one (configmaps is forbidden: `) {
		t.Errorf("want one line, got %d:\n%s", len(said), strings.Join(said, "\n"))
	}
}
