// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

func (r *rig) secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, StringData: data}
}

// passwordGenerator puts the referenced password into a ConfigMap.
func passwordGenerator(ctx context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
	component, err := ComponentFromContext(ctx)
	if err != nil {
		return nil, err
	}
	widget, ok := component.(*Widget)
	if !ok {
		return nil, err
	}
	return []client.Object{&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"password": string(widget.Spec.Password.Value())},
	}}, nil
}

// TestReferences makes use of an interval that is longer than the test's patience: what happens, happens by an event.
func TestReferences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var generator manifests.GeneratorFunc = func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		// The copy that the generator is given has lost what was loaded; see deepCopy. So take it from the parameters.
		spec, _ := parameters.(*WidgetSpec)
		component, _ := ComponentFromContext(ctx)
		if widget, ok := component.(*Widget); ok && spec != nil {
			widget.Spec.Password = spec.Password
		}
		return passwordGenerator(ctx, namespace, name, parameters)
	}
	r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{}))
	widget := r.widget("")
	widget.Spec.Password = &SecretKeyReference{Name: "credentials"}
	widget.Spec.Banner = &ConfigMapReference{Name: "banner"}
	r.create(widget)

	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	_, _, message := widget.Status.GetState()
	for _, part := range []string{"spec.password: reading Secret " + r.namespace + "/credentials", "spec.banner: reading ConfigMap " + r.namespace + "/banner"} {
		if !strings.Contains(message, part) {
			t.Errorf("want the message to contain %q, got %q", part, message)
		}
	}

	r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "banner"}})
	secret := r.secret("credentials", map[string]string{"passwort": "typo"})
	r.create(secret)
	await(r, widget, "the missing key to be named", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "Secret "+r.namespace+"/credentials has no key password; present are: passwort")
	})

	begin := time.Now()
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "one"} })
	awaitReady(r, widget)
	diff(t, "generated", map[string]string{"password": "one"}, r.configMap("demo"))
	revision := widget.Status.Revision

	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "two"} })
	await(r, widget, "a new revision", func() bool { return widget.Status.Revision > revision && widget.Status.IsReady() })
	diff(t, "generated", map[string]string{"password": "two"}, r.configMap("demo"))
	if elapsed := time.Since(begin); elapsed > missingReferenceDelay {
		t.Errorf("changes of references took %s, which is what a timer takes", elapsed)
	}

	// Other Secrets of the namespace, and other keys, do not matter.
	revision = widget.Status.Revision
	r.create(r.secret("other", nil))
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"other": "x"} })
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "foreign.example.io/a", "b") })
	r.settle(widget)
	diff(t, "revision", revision, widget.Status.Revision)

	// A widget can be deleted although what it refers to is gone.
	r.delete(secret)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	r.delete(widget)
	r.awaitGone(widget)
}

// settle waits until the operator does nothing any more.
func (r *rig) settle(component Component) {
	r.tb.Helper()
	for quiet := 0; quiet < 10; quiet++ {
		r.requests.Reset()
		time.Sleep(100 * time.Millisecond)
		if len(r.requests.All()) > 0 {
			quiet = 0
		}
	}
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(component), component); err != nil {
		r.tb.Fatal(err)
	}
}
