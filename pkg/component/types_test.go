// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// capable is a pure generator that returns a ConfigMap which says whether the cluster has an API version.
type capable struct {
	groupVersion string
	calls        atomic.Int64
}

func (g *capable) Fingerprint() string { return g.groupVersion }

func (g *capable) Generate(ctx context.Context, _, _ string, _ types.Unstructurable) ([]client.Object, error) {
	g.calls.Add(1)
	found, err := generator.DiscoveryFromContext(ctx)
	if err != nil {
		return nil, err
	}
	served := "no"
	if slices.Contains(found.GroupVersions, g.groupVersion) {
		served = "yes"
	}
	return []client.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "capable"}, "data": map[string]any{"served": served},
	}}}, nil
}

func TestNewTypesAreNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := testenv.UniqueName(t) + ".example.com"
	generator := &capable{groupVersion: group + "/v1"}
	r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{}))
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	served := func(want string) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			object := testenv.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: capable}}")
			object.SetNamespace(r.namespace)
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return false, err.Error()
			}
			got, _, _ := unstructured.NestedString(object.Object, "data", "served")
			return got == want, "served: " + got
		})
	}
	served("no")
	crd := testenv.Object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	r.create(crd)
	t.Cleanup(func() { _ = r.client.Delete(context.WithoutCancel(t.Context()), crd) })
	served("yes")
	if err := r.client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	served("no")
	if calls := generator.calls.Load(); calls < 3 {
		t.Errorf("expected at least three renderings, got %d", calls)
	}
}

// TestEmptyStatus: a status says nothing that it does not know.
func TestEmptyStatus(t *testing.T) {
	t.Parallel()
	if raw, err := json.Marshal(Status{}); err != nil || string(raw) != `{"observedGeneration":0}` {
		t.Errorf("got %s, %v", raw, err)
	}
}
