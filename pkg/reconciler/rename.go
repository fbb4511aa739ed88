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

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/internal/observe"
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

// RenameResult is the result of Reconciler.Rename.
type RenameResult struct {
	// Inventory has the items of the owner. The caller must persist it.
	Inventory []*InventoryItem
	// Failures say why some objects, or their deletion barriers, still have marks of a former name.
	Failures map[types.ObjectID]error
}

// Rename gives recorded dependents the marks of this reconciler in place of those of Options.FormerNames: labels, annotations, finalizers, and the field manager. Their content
// does not change. It takes a read and, where there is something to change, two patches for each dependent, and may be called again at any time. Objects of other owners are left
// alone. An error means that the cluster does not answer, or that the call has ended early.
func (r *Reconciler) Rename(ctx context.Context, owner Owner) (RenameResult, error) {
	result := RenameResult{Inventory: make([]*InventoryItem, len(owner.Inventory)), Failures: map[types.ObjectID]error{}}
	for i, item := range owner.Inventory {
		result.Inventory[i] = item.DeepCopy()
	}
	renaming := &renaming{call: r.call(owner, result.Inventory), names: renames.Names{
		Former: r.options.FormerNames, Name: r.name, FieldOwner: r.options.FieldOwner, Finalizers: r.finalizers(),
	}}
	for _, former := range r.former() {
		renaming.readers = append(renaming.readers, former.server().Reader)
	}
	failures := make([]error, len(result.Inventory))
	indices := make([]int, len(result.Inventory))
	for i := range indices {
		indices[i] = i
	}
	flow.Each(ctx, renaming.call.Server.Flow, indices, func(i int) {
		failures[i] = renaming.item(ctx, result.Inventory[i])
	})
	var ends []error
	for i, err := range failures {
		switch {
		case err == nil:
		case isAboutObject(err):
			result.Failures[types.IDOf(result.Inventory[i])] = err
		default:
			ends = append(ends, err)
		}
	}
	return result, errors.Join(ends...)
}

// isAboutObject reports whether the renaming of other objects may succeed.
func isAboutObject(err error) bool {
	var status apierrors.APIStatus
	_, unreadable := errors.AsType[*unreadableError](err)
	_, awaitable := answers.Awaitable(err)
	return unreadable || awaitable || errors.As(err, &status) && !apierrors.IsUnauthorized(err) && answers.IsAboutObjects(err)
}

// unreadableError says that the metadata of an object cannot be parsed.
type unreadableError struct{ error }

// former returns this reconciler under its former names, to find what it has marked.
func (r *Reconciler) former() []*Reconciler {
	var all []*Reconciler
	for _, name := range r.options.FormerNames {
		// The field manager may have had its present name.
		for _, manager := range slices.Compact([]string{name, r.options.FieldOwner}) {
			named := *r
			named.name, named.keys, named.options.FieldOwner = name, marks.NewKeys(name), manager
			named.reader = newReader(named.keys, named.options, r.judges)
			all = append(all, &named)
		}
	}
	return all
}

// renaming is one call of Rename.
type renaming struct {
	call  *calls.Call
	names renames.Names
	// readers read objects as the reconciler did under its former names.
	readers []*observe.Reader
}

func (n *renaming) item(ctx context.Context, item *InventoryItem) error {
	before, after, err := n.object(ctx, item, func(keys marks.Keys) string { return keys.OwnerLabel })
	if err != nil {
		return fmt.Errorf("replacing the labels and annotations of %s: %w", types.IDOf(item), err)
	}
	if after != nil {
		seen := n.call.Server.Reader.Read(after)
		n.call.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, seen)
		if item.UID == seen.UID {
			n.move(item, before, seen)
		}
	}
	if item.Barrier == "" {
		return nil
	}
	for _, kind := range barriers.Kinds() {
		barrier := &InventoryItem{NameInfo: NameInfo{Name: item.Barrier}}
		barrier.SetGroupVersionKind(kind)
		if _, _, err := n.object(ctx, barrier, func(keys marks.Keys) string { return keys.BarrierLabel }); err != nil {
			return fmt.Errorf("replacing the labels and annotations of the deletion barrier of %s: %w", types.IDOf(item), err)
		}
	}
	return nil
}

// move records what an object is after its marks were replaced, if it was as recorded before; otherwise, its drift must still be noticed. What an object was whose
// keys have been replaced already, by a call that ended before its caller could record that, is not known: applying it shows whether it has drifted.
func (n *renaming) move(item *InventoryItem, before *unstructured.Unstructured, seen observe.Observation) {
	if before == nil {
		if item.Fingerprint != seen.Fingerprint {
			item.Fingerprint, item.Baseline = "", ""
		}
		return
	}
	for _, reader := range n.readers {
		was := reader.Read(before)
		if was.Fingerprint != item.Fingerprint {
			continue
		}
		item.Fingerprint = seen.Fingerprint
		if was.Baseline() == item.Baseline {
			item.Baseline = seen.Baseline()
		}
		return
	}
}

// object replaces the marks of one object, and returns the object; nil if it does not exist, or is not ours. It also returns the object as it was; nil if its keys have been
// replaced already.
func (n *renaming) object(ctx context.Context, item *InventoryItem, label func(marks.Keys) string) (before, after *unstructured.Unstructured, err error) {
	var last error
	for range server.MaxAttempts {
		found, names, err := n.find(ctx, item, label)
		if err != nil || found == nil {
			return nil, nil, err
		}
		keys, entries, err := names.Changes(found)
		switch {
		case err != nil:
			return nil, nil, &unreadableError{err}
		case keys == nil && entries == nil:
			return nil, found, nil
		}
		// After a conflict, what counts is what the object is now. If its keys have been replaced by then, what it was is not known any more.
		before = nil
		if keys != nil {
			before = found.DeepCopy()
		}
		// The API server gives added keys to the field manager of the request, whatever the managed fields in it say.
		if err = n.patch(ctx, found, keys); err == nil {
			err = n.patch(ctx, found, entries)
		}
		switch {
		case err == nil:
			return before, found, nil
		case answers.IsGone(err) && !answers.IsTypeless(err):
			return nil, nil, nil
		case !answers.IsOutdated(err):
			return nil, nil, err
		}
		last = err
	}
	return nil, nil, fmt.Errorf("it %s: %w", decisions.ChangedOnEveryAttempt, last)
}

// find returns the object, and the names that count for it; nil if it does not exist, or is not ours.
func (n *renaming) find(ctx context.Context, item *InventoryItem, label func(marks.Keys) string) (*unstructured.Unstructured, renames.Names, error) {
	found, err := n.read(ctx, item)
	if err != nil || found == nil {
		return nil, n.names, err
	}
	names, ours := n.namesOf(item, found, label)
	if !ours {
		return nil, names, nil
	}
	return found, names, nil
}

// patch changes the metadata of an object, which becomes that of the response.
func (n *renaming) patch(ctx context.Context, object *unstructured.Unstructured, changes map[string]any) error {
	if changes == nil {
		return nil
	}
	patch, err := guarded.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": changes})
	if err != nil {
		return err
	}
	return n.call.Server.Mutate("update", func() error {
		return n.call.Server.Client.Patch(ctx, object, patch, client.FieldOwner(n.names.FieldOwner))
	})
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

// namesOf reports whether an object has the label of the owner, under the present or a former name. The recorded object may have lost its label; then its annotation counts. It
// returns the names, with this former name first.
func (n *renaming) namesOf(item *InventoryItem, object *unstructured.Unstructured, label func(marks.Keys) string) (names renames.Names, ours bool) {
	names = n.names
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if own, exists := labels[label(n.call.Server.Keys)]; exists {
		return names, own == n.call.Owner.Label
	}
	at := slices.IndexFunc(names.Former, func(name string) bool {
		keys := marks.NewKeys(name)
		if own, exists := labels[label(keys)]; exists || item.UID == "" || item.UID != object.GetUID() {
			return own == n.call.Owner.Label
		}
		return digest.OwnerLabel(annotations[keys.OwnerAnnotation]) == n.call.Owner.Label
	})
	if at < 0 {
		return names, false
	}
	names.Former = slices.Concat(names.Former[at:], names.Former[:at])
	return names, true
}
