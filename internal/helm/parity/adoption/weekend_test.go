// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// ofRelease lists the objects of the Helm release, apart from its hooks, which are gone.
func (w *week) ofRelease() []metav1.PartialObjectMetadata {
	w.Helper()
	var found []metav1.PartialObjectMetadata
	for _, key := range [][2]string{
		{"v1", "ConfigMap"},
		{"v1", "Secret"},
		{"v1", "Service"},
		{"v1", "ServiceAccount"},
		{"apps/v1", "Deployment"},
		{"networking.k8s.io/v1", "NetworkPolicy"},
		{"rbac.authorization.k8s.io/v1", "Role"},
		{"rbac.authorization.k8s.io/v1", "RoleBinding"},
		{w.group() + "/v1", "Rule"},
	} {
		for _, object := range w.list(w.Context(), key[0], key[1]) {
			if object.Labels["app.kubernetes.io/instance"] == w.release {
				found = append(found, object)
			}
		}
	}
	for _, object := range w.outside(w.Context()) {
		if object.Labels["app.kubernetes.io/instance"] == w.release {
			found = append(found, object)
		}
	}
	return found
}

// returned ends the field ownership of clm of each object and removes its annotation, as page migrating.md says.
func (w *week) returned() {
	w.Helper()
	for _, found := range w.ofRelease() {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": found.APIVersion, "kind": found.Kind}}
		object.SetNamespace(found.Namespace)
		object.SetName(found.Name)
		w.giveUp(object)
	}
}

// ofHelm requires all objects to be there as that version of the chart renders them, with the marks of Helm, and without those of clm.
func (w *week) ofHelm(chart string) {
	w.Helper()
	objects := w.ofRelease()
	// Of 20 components, 2 with a Deployment, 30 dashboards and 40 rules.
	if len(objects) != 20*10+2+30+40 {
		w.Errorf("Helm release %s has %d objects", w.release, len(objects))
	}
	for _, object := range objects {
		marks := fmt.Sprint(object.Labels, object.Annotations)
		if object.Labels["helm.sh/chart"] != chart || object.Annotations["meta.helm.sh/release-name"] != w.release || strings.Contains(marks, "clm.cs.sap.com") {
			w.Errorf("%s %s has the marks %s", object.Kind, object.Name, marks)
		}
	}
}

// awaitEmptiness waits until nothing but records of clm keeps the namespace from going.
func (w *week) awaitEmptiness() {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		namespace := &corev1.Namespace{}
		w.must(w.client.Get(w.Context(), client.ObjectKey{Name: w.namespace}, namespace))
		for _, condition := range namespace.Status.Conditions {
			if condition.Type == corev1.NamespaceContentRemaining && condition.Status == corev1.ConditionTrue {
				// The types that are left follow, with a comma between them.
				return strings.HasPrefix(condition.Message, "Some resources are remaining: secrets. ") && !strings.Contains(condition.Message, ", "), condition.Message
			}
		}
		return false, "the namespace does not say what it waits for"
	})
}

// expectNothing requires the namespace to go, and everything that has come with the charts to be gone.
func (w *week) expectNothing() {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		namespace := &corev1.Namespace{}
		err := w.client.Get(w.Context(), client.ObjectKey{Name: w.namespace}, namespace)
		return apierrors.IsNotFound(err), fmt.Sprintf("the namespace does not go: %v", namespace.Status.Conditions)
	})
	for _, object := range w.outside(context.WithoutCancel(w.Context())) {
		w.Errorf("left behind: %s %s", object.Kind, object.Name)
	}
}
