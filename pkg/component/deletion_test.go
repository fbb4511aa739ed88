// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

func TestDeletionIsBlockedByForeignInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	group := testenv.UniqueName(t) + ".example.io"
	widget := r.widget(strings.ReplaceAll(gadgets, "GROUP", group))
	widget.Finalizers = []string{"other.example.io/finalizer"}
	r.create(widget)
	awaitReady(r, widget)

	gadget := &unstructured.Unstructured{}
	gadget.SetAPIVersion(group + "/v1")
	gadget.SetKind("Gadget")
	gadget.SetNamespace(r.namespace)
	gadget.SetName("foreign")
	r.create(gadget)
	r.delete(widget)
	awaitState(r, widget, StateDeleting, ReadyConditionReasonDeletionBlocked)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "Deletion blocked: others have created objects of types that this component defines or manages, such as: Gadget."+group+" "+r.namespace+"/foreign; delete them first", message)

	// Then the pass waits for the finalizer of another controller.
	begin := time.Now()
	r.delete(gadget)
	await(r, widget, "the finalizer to be named", func() bool {
		_, _, message := widget.Status.GetState()
		return message == "Deletion blocked by finalizers: other.example.io/finalizer"
	})
	change(r, widget, func(w *Widget) { controllerutil.RemoveFinalizer(w, "other.example.io/finalizer") })
	r.awaitGone(widget)
	if elapsed := time.Since(begin); elapsed > 30*time.Second {
		t.Errorf("the deletion took %s after the last instance had gone", elapsed)
	}
}

// kubeconfig returns one without references to files.
func kubeconfig(tb testing.TB) string {
	tb.Helper()
	raw, err := os.ReadFile(testenv.Kubeconfig(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

func TestRemoteTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	secret := r.secret("target", map[string]string{"value": kubeconfig(t)})
	r.create(secret)
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	// A reference that the target does not need must not hold the deletion back.
	r.create(r.secret("credentials", map[string]string{"password": "one"}))
	widget.Spec.Password = &SecretKeyReference{Name: "credentials"}
	r.create(widget)
	awaitReady(r, widget)
	diff(t, "dependent", map[string]string{"color": "red"}, r.configMap("settings"))

	// A dependent in the other cluster is watched there.
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "settings"}}
	change(r, settings, func(c *corev1.ConfigMap) { c.Data["color"] = "purple" })
	testenv.Eventually(t, func() (bool, string) {
		color := r.configMap("settings")["color"]
		return color == "red", "the color is " + color
	})

	// Another process holds no connection any more.
	stop()
	r.delete(r.secret("credentials", nil))
	r.delete(secret)
	r.start(r.reconciler(ReconcilerOptions{}))
	r.delete(widget)
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	_, _, message := widget.Status.GetState()
	for _, part := range []string{"the cluster that has 1 dependent: ", "Secret " + r.namespace + "/target", `set the annotation ` + r.name + `/abandon-target of the component to "true"`} {
		if !strings.Contains(strings.ToLower(message), strings.ToLower(part)) {
			t.Errorf("want the message to contain %q, got %q", part, message)
		}
	}
	begin := time.Now()
	r.create(r.secret("target", map[string]string{"value": kubeconfig(t)}))
	r.awaitGone(widget)
	if elapsed := time.Since(begin); elapsed > outcomes.MissingDelay {
		t.Errorf("the restored Secret was noticed after %s only", elapsed)
	}
	if r.configMap("settings") != nil {
		t.Error("the dependent is left behind")
	}
}

// TestAnEmptyKubeconfigDoesNotLeadToTheLocalCluster would otherwise see dependents come in the wrong cluster, and be
// forgotten in the right one.
func TestAnEmptyKubeconfigDoesNotLeadToTheLocalCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	secret := r.secret("target", map[string]string{"value": ""})
	r.create(secret)
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	_, _, message := widget.Status.GetState()
	diff(t, "message", "Waiting for references: spec.kubeConfig.secretRef: Secret "+r.namespace+"/target holds an empty kubeconfig", message)

	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"value": kubeconfig(t)} })
	awaitReady(r, widget)
	// Suspended, so that the loss is not noticed before the deletion.
	change(r, widget, func(w *Widget) { w.Spec.Suspend = true })
	awaitState(r, widget, StatePending, ReadyConditionReasonSuspended)
	stop()
	change(r, secret, func(s *corev1.Secret) { s.Data["value"] = nil })
	r.start(r.reconciler(ReconcilerOptions{}))
	r.delete(widget)
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"value": kubeconfig(t)} })
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("the dependent is left behind")
	}
}

func TestAbandonedTarget(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig, secret *corev1.Secret){
		"its kubeconfig is lost": func(r *rig, secret *corev1.Secret) { r.delete(secret) },
		"nobody answers": func(r *rig, secret *corev1.Secret) {
			change(r, secret, func(s *corev1.Secret) {
				config := testenv.Config(r.tb)
				s.Data["value"] = []byte(strings.ReplaceAll(string(s.Data["value"]), config.Host, "https://127.0.0.1:1"))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start(r.reconciler(ReconcilerOptions{}))
			secret := r.secret("target", map[string]string{"value.yaml": "", "value": kubeconfig(t)})
			r.create(secret)
			widget := r.widget(oneConfigMap)
			widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
			r.create(widget)
			awaitReady(r, widget)
			stop()

			lose(r, secret)
			r.start(r.reconciler(ReconcilerOptions{}))
			r.delete(widget)
			await(r, widget, "an explanation", func() bool {
				return widget.Status.State == StateDeletionPending || widget.Status.State == StateError
			})
			r.settle(widget) // it must stay until it is abandoned
			change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, r.name+"/abandon-target", "true") })
			r.awaitGone(widget)
			diff(t, "dependent that is left behind", map[string]string{"color": "red"}, r.configMap("settings"))
			r.awaitEvent("Abandoned", "The operator has given up 1 dependent, which may still exist: ConfigMap "+r.namespace+"/settings")
		})
	}
}

// awaitEvent waits for an event about a component in the namespace.
func (r *rig) awaitEvent(reason, message string) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		events := &corev1.EventList{}
		if err := r.client.List(r.tb.Context(), events, client.InNamespace(r.namespace)); err != nil {
			return false, err.Error()
		}
		var seen []string
		for _, event := range events.Items {
			if event.Reason == reason && strings.HasPrefix(event.Message, message) {
				return true, ""
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return false, "want event " + reason + ": " + message + "; have\n" + strings.Join(seen, "\n")
	})
}

func TestComponentWithoutDependentsNeedsNoTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "never-there"}}
	r.create(widget)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	change(r, widget, func(w *Widget) { w.Finalizers = []string{r.name} })
	r.delete(widget)
	r.awaitGone(widget)
}

func TestImpersonation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{DefaultServiceAccount: new("default-deployer")}))
	widget := r.widget(oneConfigMap)
	widget.Spec.ServiceAccountName = "deployer"
	r.create(widget)
	awaitState(r, widget, StateError, ReadyConditionReasonError)
	_, _, message := widget.Status.GetState()
	if user := "system:serviceaccount:" + r.namespace + ":deployer"; !strings.Contains(message, user) {
		t.Errorf("want the message to name %s, got %q", user, message)
	}

	r.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}}},
	})
	subject := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: r.namespace, Name: name}
	}
	r.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "deployer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
		Subjects:   []rbacv1.Subject{subject("deployer"), subject("default-deployer")},
	})
	awaitReady(r, widget)
	change(r, widget, func(w *Widget) { w.Spec.ServiceAccountName = "" })
	awaitReady(r, widget)
	r.delete(widget)
	r.awaitGone(widget)
}
