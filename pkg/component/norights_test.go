// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestDeletionWithoutRightsBeforeAnythingWasCreated has a service account that may do nothing, from the beginning. The component can be deleted nevertheless.
func TestDeletionWithoutRightsBeforeAnythingWasCreated(t *testing.T) {
	t.Parallel()
	for reason, options := range map[string]ReconcilerOptions{"watched by the operator": {}, "named by the option": {DefaultServiceAccount: new("nobody")}} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(r.reconciler(options))
			widget := r.widget(oneConfigMap + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {" + r.name + "/apply-order: \"1\"}}}")
			widget.Spec.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "storage.k8s.io", Kind: "VolumeAttachment"}}
			if options.DefaultServiceAccount == nil {
				widget.Spec.ServiceAccountName = "nobody"
			}
			r.create(widget)
			await(r, widget, "an error", func() bool {
				_, _, message := widget.Status.GetState()
				return strings.Contains(message, "forbidden")
			})
			r.delete(widget)
			r.awaitGone(widget)
		})
	}
}

// startGlobally starts an operator for components without namespace, which looks only at the one with the name of the rig's namespace.
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

// TestServiceAccountsOfGlobalComponents: a component without a namespace has none. That is refused at once, also if dependents were created before. What was not created
// does not hold back a deletion.
func TestServiceAccountsOfGlobalComponents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startGlobally(specObjects, ReconcilerOptions{})
	widget := r.globalWidget(oneConfigMap)
	widget.Spec.ServiceAccountName = "deployer"
	refused := func() {
		await(r, widget, "a refusal", func() bool {
			state, _, message := widget.Status.GetState()
			return state == StateError && strings.HasPrefix(message, `Service account "deployer": a component without a namespace has no service accounts; leave serviceAccountName in its spec`)
		})
	}
	r.create(widget)
	refused()
	if r.configMap("settings") != nil {
		t.Error("a dependent was created")
	}
	r.delete(widget)
	r.awaitGone(widget)
	widget = r.globalWidget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	change(r, widget, func(w *GlobalWidget) { w.Spec.ServiceAccountName = "deployer" })
	refused()
	r.delete(widget)
	await(r, widget, "that the rights are missing", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "forbidden") && strings.Contains(message, "abandon-target")
	})
	change(r, widget, func(w *GlobalWidget) { w.Spec.ServiceAccountName = "" })
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("the dependent is left")
	}
}

// TestReferencesOfGlobalComponents: they cannot work, and neither can a kubeconfig.
func TestReferencesOfGlobalComponents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startGlobally(specObjects, ReconcilerOptions{})
	widget := r.globalWidget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	await(r, widget, "a refusal", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.HasPrefix(message,
			"spec.kubeConfig.secretRef: a component without a namespace cannot refer to a Secret; leave the field empty, or make the kind namespaced")
	})
	r.delete(widget)
	r.awaitGone(widget)
}

// TestPatternsThatMatchNothing: a pattern of types that matches none would protect nothing. The schema refuses it, and so does the operator if the pattern comes from elsewhere.
func TestPatternsThatMatchNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	for _, pattern := range []reconciler.TypeInfo{{Group: "a.*.b", Kind: "A"}, {Group: "*.", Kind: "A"}, {Group: "a", Kind: "Foo*"}, {Group: "a"}, {Group: "Example.io", Kind: "A"}} {
		widget := r.widget(oneConfigMap)
		widget.Spec.AdditionalManagedTypes = []reconciler.TypeInfo{pattern}
		if err := r.client.Create(t.Context(), widget); err == nil || !strings.Contains(err.Error(), "additionalManagedTypes") {
			t.Errorf("%+v is accepted: %v", pattern, err)
		}
	}
}
