// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestForgedDeletionHooksAreNotApplied has a user who may write statuses and create Secrets try to use the permissions
// of the operator.
func TestForgedDeletionHooksAreNotApplied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	mallory := r.intruder()

	name := "mallory-" + r.namespace
	content := []byte(`[{"hook":"pre-delete","object":{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"` + name + `","annotations":{"` + r.name + `/delete-policy":"orphan"}},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"mallory"}]}}]`)
	packed, err := chunks.Pack(content)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: chunks.NewStore(chunks.Options{Prefix: "x"}).Name(content)}, Data: map[string][]byte{"content": packed}}
	testenv.Eventually(t, func() (bool, string) {
		err := mallory.Create(t.Context(), secret)
		return err == nil, fmt.Sprint(err)
	})
	checksum := chunks.Checksum([][]byte{content})
	// The status cannot change the annotation along with it.
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"%s/deletion-hooks-checksum":%q}},"status":{"deletionHooks":{"namespace":%q,"secrets":[%q],"checksum":%q,"objects":1}}}`,
		r.name, checksum, r.namespace, secret.Name, checksum)
	if err := mallory.SubResource("status").Patch(t.Context(), widget, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	if err := mallory.Delete(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Cleanup(func() { _ = r.client.Delete(context.Background(), binding) })
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	if _, _, message := widget.Status.GetState(); !strings.Contains(message, "the annotation "+r.name+"/deletion-hooks-checksum of the component does not confirm the hooks in the Secrets that") {
		t.Errorf("got %q", message)
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err == nil {
		t.Fatal("mallory is cluster-admin")
	}
}

// intruder returns a client with few rights in the namespace.
func (r *rig) intruder() client.Client {
	r.tb.Helper()
	r.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "few"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{testGroup.Group}, Resources: []string{"widgets/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{testGroup.Group}, Resources: []string{"widgets"}, Verbs: []string{"delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}})
	r.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "few"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "few"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "mallory"}},
	})
	config := rest.CopyConfig(testenv.Config(r.tb))
	config.Impersonate = rest.ImpersonationConfig{UserName: "mallory"}
	clnt, err := client.New(config, client.Options{Scheme: testScheme(r.tb)})
	if err != nil {
		r.tb.Fatal(err)
	}
	return clnt
}

// TestDeathWhileHooksChange has the component deleted after each moment at which the process may die while it stores
// other hooks: either the former or the new ones run, and nothing has to be done by hand.
func TestDeathWhileHooksChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	runs := r.jobsThatAppear()
	for survived, done := 0, false; !done; survived++ {
		widget := r.widget(oneConfigMap + r.job("former", "deletion-hook", "pre-delete"))
		r.create(widget)
		stop := r.start(r.reconciler(ReconcilerOptions{}))
		awaitReady(r, widget)
		stop()

		mortal := *r
		config, left := testenv.Dying(r.config, survived)
		mortal.config = config
		change(r, widget, func(w *Widget) {
			w.Spec.Objects = r.objects(oneConfigMap + r.job("new", "deletion-hook", "pre-delete"))
		})
		stop = mortal.start(r.reconciler(ReconcilerOptions{}))
		testenv.Eventually(t, func() (bool, string) {
			r.read(widget)
			done = widget.Status.ObservedGeneration == widget.Generation && widget.Status.State == StateReady
			return done || left.Load() <= 0, "neither death nor the end"
		})
		stop()
		before := len(runs())
		stop = r.start(r.reconciler(ReconcilerOptions{}))
		r.delete(widget)
		r.awaitGone(widget)
		stop()
		testenv.Eventually(t, func() (bool, string) {
			got := runs()[before:]
			return slices.Equal(got, []string{"former"}) || slices.Equal(got, []string{"new"}), fmt.Sprintf("with a death after %d writes: hooks ran: %v", survived, got)
		})
	}
}
