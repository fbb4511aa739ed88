// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/records"
)

// TestComponentInItsOwnDependent has a component that lives in one of its dependents.
func TestComponentInItsOwnDependent(t *testing.T) {
	t.Parallel()
	const manifests = "{apiVersion: v1, kind: ConfigMap, metadata: {name: own}}\n"
	for name, end := range map[string]func(r *rig, widget *Widget){
		"Deleted": func(r *rig, widget *Widget) { r.delete(widget) },
		"Redundant": func(r *rig, widget *Widget) {
			change(r, widget, func(w *Widget) { w.Spec.Objects = r.widget(manifests).Spec.Objects })
			awaitReady(r, widget)
			r.delete(widget)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(r.reconciler(ReconcilerOptions{}))
			widget := r.widget("{apiVersion: v1, kind: Namespace, metadata: {name: " + r.namespace + "}}\n---\n" + manifests)
			r.create(widget)
			awaitReady(r, widget)
			end(r, widget)
			r.awaitGone(widget)
			namespace := &corev1.Namespace{}
			if err := r.client.Get(t.Context(), client.ObjectKey{Name: r.namespace}, namespace); err != nil {
				t.Fatal(err)
			}
			if namespace.DeletionTimestamp != nil || namespace.Labels[r.name+"/owner-id"] != "" {
				t.Errorf("expected the namespace without a mark, got %v", namespace.ObjectMeta)
			}
			if members := r.members(r.namespace); len(members) > 0 {
				t.Errorf("dependents are left behind: %v", members)
			}
		})
	}
}

// TestHome says which namespaces a component needs itself.
func TestHome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct {
		reason, namespace, state, recorded, target, cluster, want string
	}{
		{"the component", "a", "", "", "", "", "a"},
		{"its record is nowhere else, whatever the status says", "a", "", "b", "", "", "a"},
		{"a cluster-scoped one needs what is kept beside it", "", "state", "", "", "", "state"},
		{"but the status alone does not say where", "", "state", "other", "", "", "state"},
		{"a namespace counts once", "a", "a", "a", "", "", "a"},
		{"that of the same name in another cluster is another one", "a", "state", "b", "kubeconfig", "there", ""},
		{"a cluster that nobody knows is another one", "a", "", "", "kubeconfig", "", ""},
		{"a kubeconfig may lead to the cluster of the component", "a", "", "", "kubeconfig", "here", "a"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			w := r.bareWorker(newWidget, "Widget")
			w.clusterID, w.options.StateNamespace = "here", tc.state
			widget := r.widget("")
			widget.Namespace, widget.Name = tc.namespace, "demo"
			if tc.cluster != "" {
				widget.Status.ProcessingDigest = "digest" + records.MarkSeparator + "1:a" + records.ClusterSeparator + tc.cluster
			}
			if tc.recorded != "" {
				widget.Status.InventoryRecord = &InventoryRecord{Namespace: tc.recorded}
			}
			if tc.target != "" {
				widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{value: []byte(tc.target)}}
			}
			s, err := w.newPass(t.Context(), widget, nil)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "home", tc.want, strings.Join(s.home(), " "))
			if self := s.owner().Self; (self == nil) != (tc.want == "") || self != nil && (self.GetName() != "demo" || self.GetObjectKind().GroupVersionKind() != w.resource.Kind) {
				t.Errorf("unexpected component in the cluster of the dependents: %v", self)
			}
		})
	}
}
