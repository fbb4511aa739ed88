// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// crowd declares many ConfigMaps in few words.
type crowd struct {
	count int
	// changed is the index of one with another content; zero if there is none.
	changed int
	// namespace defaults to that of the component.
	namespace string
}

func (c crowd) spec() []runtime.RawExtension {
	raw := fmt.Sprintf(`{"kind":"Crowd","count":%q,"changed":%q,"namespace":%q}`, strconv.Itoa(c.count), strconv.Itoa(c.changed), c.namespace)
	return []runtime.RawExtension{{Raw: []byte(raw)}}
}

// crowdObjects is a generator that makes ConfigMaps of a crowd, and takes other objects of the spec as they are.
func crowdObjects(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	objects, err := specObjects(ctx, namespace, name, parameters)
	if err != nil || len(objects) == 0 || objects[0].GetObjectKind().GroupVersionKind().Kind != "Crowd" {
		return objects, err
	}
	content := objects[0].(*unstructured.Unstructured).Object
	count, _ := strconv.Atoi(content["count"].(string))
	objects = nil
	for i := range count {
		member := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: content["namespace"].(string), Name: fmt.Sprintf("member-%04d", i)}}
		member.Data = map[string]string{"value": "plain"}
		if strconv.Itoa(i) == content["changed"] && i > 0 {
			member.Data["value"] = "changed"
		}
		objects = append(objects, member)
	}
	return objects, nil
}

// crowdReconciler has inventories of more than 4 KB in chunks: some 15 items.
func (r *rig) crowdReconciler() *Reconciler[*Widget] {
	return NewReconciler[*Widget](r.name, manifests.GeneratorFunc(crowdObjects), ReconcilerOptions{inlineLimit: 16000})
}

func (r *rig) crowded(c crowd) *Widget {
	r.tb.Helper()
	widget := r.widget("")
	widget.Spec.Objects = c.spec()
	return widget
}

// chunks returns the chunks of all inventories in the namespace, by name.
func (r *rig) chunks() map[string]corev1.ConfigMap {
	r.tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace), client.HasLabels{r.name + "/inventory-owner-id"}); err != nil {
		r.tb.Fatal(err)
	}
	found := map[string]corev1.ConfigMap{}
	for _, item := range list.Items {
		found[item.Name] = item
	}
	return found
}

// members returns UIDs and versions of the dependents.
func (r *rig) members(namespace string) map[string]string {
	r.tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(namespace), client.HasLabels{r.name + "/owner-id"}); err != nil {
		r.tb.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range list.Items {
		found[item.Name] = string(item.UID) + "@" + item.ResourceVersion
	}
	return found
}

// expectRecord checks that exactly those chunks exist to which the status refers, and that they hold the items.
func (r *rig) expectRecord(widget *Widget, items int) {
	r.tb.Helper()
	record := widget.Status.InventoryRecord
	if record == nil || record.Inline || len(widget.Status.Inventory) > 0 {
		r.tb.Fatalf("want the inventory to be kept in chunks, got %+v and %d items", record, len(widget.Status.Inventory))
	}
	diff(r.tb, "items", items, record.Items)
	testenv.Eventually(r.tb, func() (bool, string) {
		want, got := slices.Sorted(slices.Values(record.Chunks)), slices.Sorted(maps.Keys(r.chunks()))
		return slices.Equal(want, got), fmt.Sprintf("want the chunks %v, have %v", want, got)
	})
	diff(r.tb, "recorded items", items, len(r.recorded(widget)))
	for name, chunk := range r.chunks() {
		raw, err := json.Marshal(chunk)
		if err != nil {
			r.tb.Fatal(err)
		}
		if len(raw) > 900<<10 {
			r.tb.Errorf("the chunk %s has %d bytes", name, len(raw))
		}
		if !slices.Equal(chunk.Finalizers, []string{r.name + "/inventory"}) || len(chunk.OwnerReferences) > 0 || chunk.Immutable == nil || !*chunk.Immutable {
			r.tb.Errorf("want an immutable chunk with our finalizer and without owner, got %+v", chunk.ObjectMeta)
		}
	}
}

// recorded reads the inventory as a new process would.
func (r *rig) recorded(component Component) []*reconciler.InventoryItem {
	r.tb.Helper()
	w := r.bareWorker(newWidget, "Widget")
	s := r.begin(w, component)
	if o := s.recall(r.tb.Context()); o.Kind != outcomes.Continue || s.record.Gap() != "" {
		r.tb.Fatalf("want a complete record, got %+v, %q", o, s.record.Gap())
	}
	return s.status.Inventory
}

// writes returns the number of requests that created, changed or deleted ConfigMaps: dependents, and chunks.
func (r *rig) writes() (dependents, chunks int) {
	count := func(part bool) int {
		return r.requests.Count(func(request testenv.Request) bool {
			// The name of what is created stands in the body; dependents are applied.
			isChunk := strings.HasPrefix(request.Name, "inventory-") || request.Method == http.MethodPost
			return request.IsWrite() && request.Resource == "configmaps" && isChunk == part
		})
	}
	return count(false), count(true)
}

// chunkReads returns the number of requests that read chunks.
func (r *rig) chunkReads() int {
	return r.requests.Count(func(request testenv.Request) bool {
		return request.Method == http.MethodGet && request.Resource == "configmaps" && strings.HasPrefix(request.Name, "inventory-")
	})
}
