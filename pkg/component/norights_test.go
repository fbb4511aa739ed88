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
)

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
