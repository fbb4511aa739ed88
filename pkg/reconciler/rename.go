// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/internal/renames"
	"github.com/component-operator/runtime/pkg/cluster"
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
// alone. It returns the inventory, which the caller must persist, also after an error.
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
		// The field manager may have had its present name.
		for _, manager := range slices.Compact([]string{name, r.options.FieldOwner}) {
			named := *r
			named.name, named.keys, named.options.FieldOwner = name, marks.NewKeys(name), manager
			all = append(all, &named)
		}
	}
	return all
}

// renaming is one call of Rename.
type renaming struct {
	call  *calls.Call
	names renames.Names
}

func (n *renaming) item(ctx context.Context, item *InventoryItem) error {
	renamed, err := n.object(ctx, item, func(keys marks.Keys) string { return keys.OwnerLabel })
	switch {
	case apierrors.IsForbidden(err) && item.Phase == PhaseKept:
		// It stays anyway.
	case err != nil:
		return fmt.Errorf("renaming the marks of %s: %w", types.IDOf(item), err)
	case renamed != nil:
		seen := n.call.Server.Reader.Read(renamed)
		n.call.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, seen)
		if item.UID == seen.UID {
			item.Fingerprint, item.Baseline = seen.Fingerprint, seen.Baseline()
		}
	}
	if item.Barrier == "" {
		return nil
	}
	for _, kind := range barriers.Kinds() {
		barrier := &InventoryItem{NameInfo: NameInfo{Name: item.Barrier}}
		barrier.SetGroupVersionKind(kind)
		if _, err := n.object(ctx, barrier, func(keys marks.Keys) string { return keys.BarrierLabel }); err != nil {
			return fmt.Errorf("renaming the deletion barrier of %s: %w", types.IDOf(item), err)
		}
	}
	return nil
}

// object renames the marks of one object, and returns it; nil if there is nothing to rename.
func (n *renaming) object(ctx context.Context, item *InventoryItem, label func(marks.Keys) string) (*unstructured.Unstructured, error) {
	var last error
	for range server.MaxAttempts {
		object, err := n.read(ctx, item)
		if err != nil || object == nil {
			return nil, err
		}
		names, ours := n.namesOf(object.GetLabels(), label)
		if !ours {
			return nil, nil
		}
		changes, err := names.Changes(object)
		if err != nil || changes == nil {
			return nil, err
		}
		patch, err := guarded.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": changes})
		if err != nil {
			return nil, err
		}
		err = n.call.Server.Mutate("update", func() error {
			return n.call.Server.Client.Patch(ctx, object, patch, client.FieldOwner(names.FieldOwner))
		})
		switch {
		case err == nil:
			return object, nil
		case answers.IsGone(err) && !answers.IsTypeless(err):
			return nil, nil
		case !answers.IsOutdated(err):
			return nil, err
		}
		last = err
	}
	return nil, fmt.Errorf("it %s: %s", decisions.ChangedOnEveryAttempt, conflicts.Reason(last))
}

// read reads an object as a deletion does: in each served version, and with whoever may. It returns nil if the object certainly does not exist.
func (n *renaming) read(ctx context.Context, item *InventoryItem) (object *unstructured.Unstructured, err error) {
	get := func() error {
		return n.call.Server.ReadAnyway(func(clnt cluster.Client) (err error) {
			object, err = server.LookUp(ctx, clnt, item)
			return err
		})
	}
	switch err := get(); {
	case err == nil:
		return object, nil
	case !answers.IsGone(err):
		return nil, err
	case !answers.IsTypeless(err):
		return nil, nil
	}
	s, err := n.call.Server.AskServed(ctx, item)
	if err != nil || !s.Exists {
		return nil, err
	}
	if err := get(); err != nil {
		return nil, err
	}
	return object, nil
}

// namesOf reports whether an object has the label of the owner, under the present or a former name. It returns the names, with this former name first.
func (n *renaming) namesOf(labels map[string]string, label func(marks.Keys) string) (names renames.Names, ours bool) {
	names = n.names
	if own, exists := labels[label(n.call.Server.Keys)]; exists {
		return names, own == n.call.Owner.Label
	}
	at := slices.IndexFunc(names.Former, func(name string) bool { return labels[label(marks.NewKeys(name))] == n.call.Owner.Label })
	if at < 0 {
		return names, false
	}
	names.Former = slices.Concat(names.Former[at:], names.Former[:at])
	return names, true
}
