// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestKubeconfigIsNoProbe has a kubeconfig lead to something that is no API server.
func TestKubeconfigIsNoProbe(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		writer.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(writer, "instance credentials: abc")
	}))
	t.Cleanup(page.Close)
	host := strings.TrimPrefix(page.URL, "http://")
	r := newRig(t)
	r.create(r.secret("target", map[string]string{"value": leadingTo(host)}))
	create := func(name string) *Widget {
		widget := r.widget(oneConfigMap)
		widget.Name = name
		widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
		r.create(widget)
		awaitState(r, widget, StateError, ReadyConditionReasonError)
		return widget
	}
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := create("open")
	if _, _, message := widget.Status.GetState(); !strings.Contains(message, "the answer is not from a Kubernetes API server") || strings.Contains(message, "credentials") ||
		!strings.HasSuffix(message, "; the dependents are in the cluster at http://"+host+", whose kubeconfig is in Secret "+r.namespace+"/target") {
		t.Errorf("got message %q", message)
	}
	stop()
	r.start(r.reconciler(ReconcilerOptions{AllowedTargets: []string{"*.example.com", "10.0.0.0/8"}}))
	widget = create("closed")
	_, _, message := widget.Status.GetState()
	diff(t, "message", `Connecting to the cluster of the dependents: invalid kubeconfig: server: host "`+host+`" is not allowed; must match one of: *.example.com, 10.0.0.0/8`+
		"; the kubeconfig is in Secret "+r.namespace+"/target", message)
}

func TestRejectedValuesAreNotInConditions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	for name, object := range map[string]string{
		"service": `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {externalIPs: ["hunter2hunter2"], ports: [{port: 1}]}}`,
		"number":  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {password: {deep: "hunter2hunter2"}}}`,
		"secret":  `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: "hunter2hunter2!"}}`,
	} {
		widget := r.widget(object)
		widget.Name = name
		r.create(widget)
		awaitState(r, widget, StateError, ReadyConditionReasonError)
		_, _, message := widget.Status.GetState()
		if strings.Contains(message, "hunter2") {
			t.Errorf("%s: %s", name, message)
		}
		t.Log(message)
	}
}

// TestChartsReadAsTheDefaultServiceAccount has a chart look for a Secret of another tenant.
func TestChartsReadAsTheDefaultServiceAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := testenv.Namespace(t)
	secret := r.secret("credentials", map[string]string{"password": "hunter2"})
	secret.Namespace = other
	r.create(secret)
	own := r.secret("credentials", map[string]string{"password": "own"})
	r.create(own)
	r.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"*"}}},
	})
	r.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: r.namespace, Name: "deployer"}},
	})
	generator := chartGenerator(t, map[string]string{"templates/a.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {found: {{ tpl .Values.text . | quote }}}
`, "values.yaml": `text: '{{ (lookup "v1" "Secret" ` + "`" + other + "`" + ` "credentials").data }}'`})
	r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{DefaultServiceAccount: new("deployer")}))
	widget := r.widget("")
	r.create(widget)
	awaitState(r, widget, StateError, ReadyConditionReasonError)
	_, _, message := widget.Status.GetState()
	if user := "system:serviceaccount:" + r.namespace + ":deployer"; !strings.Contains(message, `User "`+user+`" cannot get resource "secrets"`) {
		t.Errorf("expected that %s is forbidden to read the Secret, got %q", user, message)
	}
}

// startGlobally starts an operator for components without namespace, which looks only at the one with the name of the
// rig's namespace.
func (r *rig) startGlobally(generate manifests.GeneratorFunc, options ReconcilerOptions) (stop func()) {
	r.tb.Helper()
	mgr := r.manager(func(o *ctrl.Options) {
		own := fields.OneTermEqualSelector("metadata.name", r.namespace)
		o.Cache.ByObject = map[client.Object]cache.ByObject{&GlobalWidget{}: {Field: own}}
	})
	if err := NewReconciler[*GlobalWidget](r.name, generate, options).SetupWithManager(mgr); err != nil {
		r.tb.Fatal(err)
	}
	return r.run(mgr)
}

// globalWidget returns a component without a namespace that creates objects in that of the rig.
func (r *rig) globalWidget(manifests string) *GlobalWidget {
	widget := (*GlobalWidget)(r.widget(manifests))
	widget.Name, widget.Namespace, widget.Spec.Namespace = r.namespace, "", r.namespace
	return widget
}

// TestServiceAccountsOfGlobalComponents: a component without a namespace has none. That is refused at once, and does
// not hold back the deletion.
func TestServiceAccountsOfGlobalComponents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startGlobally(specObjects, ReconcilerOptions{})
	widget := r.globalWidget(oneConfigMap)
	widget.Spec.ServiceAccountName = "deployer"
	r.create(widget)
	await(r, widget, "a refusal", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.HasPrefix(message, `Service account "deployer": a component without a namespace has no service accounts; leave serviceAccountName in its spec`)
	})
	if r.configMap("settings") != nil {
		t.Error("a dependent was created")
	}
	r.delete(widget)
	r.awaitGone(widget)
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// TestTypesThatATenantNamesAreLookedAtAsTheTenant has a tenant ask for the instances of types that its service account
// may not list.
func TestTypesThatATenantNamesAreLookedAtAsTheTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{DefaultServiceAccount: new("deployer")}))
	r.deployer("configmaps")
	secret := r.secret("merger-with-acme", map[string]string{"a": "b"})
	secret.Namespace = testenv.Namespace(t)
	r.create(secret)
	widget := r.widget(oneConfigMap)
	widget.Spec.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "", Kind: "Secret"}, {Group: "*", Kind: "*"}}
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	await(r, widget, "that it is said which right is missing", func() bool {
		_, _, message := widget.Status.GetState()
		if strings.Contains(message, secret.Name) {
			t.Fatal(message)
		}
		return strings.Contains(message, "is one of the additional managed types") && strings.Contains(message, `User "system:serviceaccount:`+r.namespace+`:deployer" cannot list resource`)
	})
	if r.configMap("settings") == nil {
		t.Error("the dependent is gone, although it is not known whether there are instances")
	}
	change(r, widget, func(w *Widget) { w.Spec.AdditionalManagedTypes = nil })
	r.awaitGone(widget)
}

// TestInstancesThatMustNotBeListedAreNotNamed has a component bring a type whose instances its service account may not
// list.
func TestInstancesThatMustNotBeListedAreNotNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{DefaultServiceAccount: new("deployer")}))
	r.deployer("configmaps")
	r.definer()
	group := testenv.UniqueName(t) + ".example.io"
	widget := r.widget(strings.ReplaceAll(gadgets, "GROUP", group))
	r.create(widget)
	awaitReady(r, widget)
	other := &unstructured.Unstructured{}
	other.SetAPIVersion(group + "/v1")
	other.SetKind("Gadget")
	other.SetNamespace(testenv.Namespace(t))
	other.SetName("merger-with-acme")
	r.create(other)
	r.delete(widget)
	awaitState(r, widget, StateDeleting, ReadyConditionReasonDeletionBlocked)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "Deletion blocked: others have created objects of types that this component defines or manages, such as: Gadget."+group+" (there are some, but no permission to list them); delete them first", message)
	r.delete(other)
	r.awaitGone(widget)
}

// definer lets the service account deployer define types.
func (r *rig) definer() {
	r.tb.Helper()
	name := "definer-" + r.namespace
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: r.namespace, Name: "deployer"}},
	}
	for _, object := range []client.Object{role, binding} {
		r.create(object)
		r.tb.Cleanup(func() { _ = r.client.Delete(context.WithoutCancel(r.tb.Context()), object) })
	}
}
