// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/internal/renames"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/barriers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/marks"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

// RenameRequest asks for the dependents of an owner to be taken over from a reconciler with another name.
type RenameRequest struct {
	Owner
	// FormerNames are the names that this reconciler had in earlier versions, also as field manager and as finalizer.
	FormerNames []string
}

// Rename gives recorded dependents the marks of this reconciler in place of those of its former names: labels, annotations, finalizers, and the field manager. Their content does
// not change. It takes a read and, where there is something to change, a patch for each dependent, and may be called again at any time. Objects of other owners are left
// alone. It returns the inventory, which the caller must persist.
func (r *Reconciler) Rename(ctx context.Context, request RenameRequest) ([]*InventoryItem, error) {
	items := make([]*InventoryItem, len(request.Inventory))
	for i, item := range request.Inventory {
		items[i] = item.DeepCopy()
	}
	renaming := &renaming{call: r.call(request.Owner, items), names: renames.Names{
		Former: request.FormerNames, Name: r.name, FieldOwner: r.options.FieldOwner, Finalizers: r.finalizers(),
	}}
	failures := make([]error, len(items))
	indices := make([]int, len(items))
	for i := range items {
		indices[i] = i
	}
	flow.Each(ctx, renaming.call.Server.Flow, indices, func(i int) {
		failures[i] = renaming.item(ctx, items[i])
	})
	return items, errors.Join(failures...)
}

// former returns this reconciler under its former names, to find what it has marked.
func (r *Reconciler) former(names []string) []*Reconciler {
	var all []*Reconciler
	for _, name := range names {
		named := *r
		named.name, named.keys, named.options.FieldOwner = name, marks.NewKeys(name), name
		all = append(all, &named)
	}
	return all
}

// renaming is one call of Rename.
type renaming struct {
	call  *calls.Call
	names renames.Names
}

func (n *renaming) item(ctx context.Context, item *InventoryItem) error {
	renamed, err := n.object(ctx, item.GroupVersionKind(), client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, func(keys marks.Keys) string { return keys.OwnerLabel })
	if err != nil {
		return fmt.Errorf("renaming the marks of %s: %w", types.IDOf(item), err)
	}
	if renamed != nil && item.UID == renamed.GetUID() {
		seen := n.call.Server.Reader.Read(renamed)
		item.Fingerprint, item.Baseline = seen.Fingerprint, seen.Baseline()
	}
	if item.Barrier == "" {
		return nil
	}
	for _, kind := range barriers.Kinds() {
		if _, err := n.object(ctx, kind, client.ObjectKey{Name: item.Barrier}, func(keys marks.Keys) string { return keys.BarrierLabel }); err != nil {
			return fmt.Errorf("renaming the deletion barrier of %s: %w", types.IDOf(item), err)
		}
	}
	return nil
}

// object renames the marks of one object, and returns it; nil if there is nothing to rename.
func (n *renaming) object(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, label func(marks.Keys) string) (*unstructured.Unstructured, error) {
	var last error
	for range server.MaxAttempts {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		err := n.call.Server.Read(func() error { return n.call.Server.Client.Get(ctx, key, object) })
		if answers.IsGone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		changes, err := n.names.Changes(object)
		if err != nil || changes == nil || !n.isOurs(object.GetLabels(), label) {
			return nil, err
		}
		patch, err := guarded.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": changes})
		if err != nil {
			return nil, err
		}
		err = n.call.Server.Mutate("update", func() error {
			return n.call.Server.Client.Patch(ctx, object, patch, client.FieldOwner(n.names.FieldOwner))
		})
		switch {
		case err == nil:
			return object, nil
		case answers.IsGone(err):
			return nil, nil
		case !answers.IsOutdated(err):
			return nil, err
		}
		last = err
	}
	return nil, fmt.Errorf("it %s: %s", decisions.ChangedOnEveryAttempt, conflicts.Reason(last))
}

// isOurs reports whether an object has the label of the owner, under the present or a former name.
func (n *renaming) isOurs(labels map[string]string, label func(marks.Keys) string) bool {
	if own, exists := labels[label(n.call.Server.Keys)]; exists {
		return own == n.call.Owner.Label
	}
	return slices.ContainsFunc(n.names.Former, func(name string) bool { return labels[label(marks.NewKeys(name))] == n.call.Owner.Label })
}
