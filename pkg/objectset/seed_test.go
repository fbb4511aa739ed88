// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// written returns the resources of dependents that were written by a method, in order, each once.
func (r *rig) written(method string, kinds ...string) []string {
	var found []string
	for _, request := range r.requests.All() {
		if request.Method == method && request.Subresource == "" && slices.Contains(kinds, request.Resource) && request.Status < 300 && !slices.Contains(found, request.Resource) {
			found = append(found, request.Resource)
		}
	}
	return found
}

// TestSeed applies the example of "Reconcile Phases" end to end: phases in order, and back.
func TestSeed(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/reconcile-phases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.start()
	// The namespace of the example is made by the set.
	home := r.namespace
	r.namespace = testenv.UniqueName(t)
	set := &v1alpha1.ClusterObjectSet{ObjectMeta: metav1.ObjectMeta{Name: r.name, Labels: map[string]string{labelRig: r.name}}}
	r.decode(string(raw), &set.Spec)
	r.create(set)
	r.awaitCondition(set, available, "True/Available", "6 of 6 objects in 3 phases are available")
	r.awaitCondition(set, succeeded, "True/RolloutSuccess")
	r.expectPhases(set, "namespace 1 1 1 0", "crds-and-rbac 4 4 4 0", "deploy 1 1 1 0")
	kinds := []string{"namespaces", "customresourcedefinitions", "deployments"}
	if diff := cmp.Diff(kinds, r.written(http.MethodPatch, kinds...)); diff != "" {
		t.Errorf("order of application (-want +got):\n%s", diff)
	}

	r.delete(set)
	r.awaitGone(set)
	slices.Reverse(kinds)
	if diff := cmp.Diff(kinds, r.written(http.MethodDelete, kinds...)); diff != "" {
		t.Errorf("order of deletion (-want +got):\n%s", diff)
	}
	r.namespace = home
}
