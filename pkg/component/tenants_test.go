// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
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
