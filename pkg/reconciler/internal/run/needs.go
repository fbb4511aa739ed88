// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Needs are the kinds and namespaces that one call has the observer watch.
type Needs struct {
	ledger   *Ledger
	observer execute.Observer
	judges   *judges.Judges
	label    string // value of the owner label
	watched  map[schema.GroupVersionKind]map[string]bool
	content  map[schema.GroupVersionKind]bool // kinds whose objects are judged by their content
	whole    map[types.ObjectID]schema.GroupVersionKind
}

// NewNeeds returns the needs of an owner, none so far.
func NewNeeds(ledger *Ledger, observer execute.Observer, owners *judges.Judges, label string) *Needs {
	return &Needs{
		ledger: ledger, observer: observer, judges: owners, label: label,
		watched: map[schema.GroupVersionKind]map[string]bool{}, content: map[schema.GroupVersionKind]bool{}, whole: map[types.ObjectID]schema.GroupVersionKind{},
	}
}

// Watch has the observer watch the kinds of the desired objects and of redundant dependents. It leaves out kinds of
// desired objects beyond the given stage, because they may not be served yet, unless the inventory shows that a
// dependent exists.
func (n *Needs) Watch(ctx context.Context, wanted []*prepare.Object, upTo prepare.Stage) error {
	told, more := len(n.watched) > 0, false
	var last *prepare.Object
	for _, t := range wanted {
		if last != nil && asLast(t, last) {
			continue
		}
		if t.Stage() <= upTo || n.ledger.Of(t).UID != "" {
			more = n.add(t) || more
			last = t
		}
	}
	for _, item := range n.ledger.Redundant() {
		more = n.needed(item.GroupVersionKind(), item.Namespace) || more
	}
	if told && !more {
		return nil
	}
	return n.observer.Watch(ctx, n.label, n.all())
}

// asLast reports whether a desired object needs the same as the one before it.
func asLast(t, last *prepare.Object) bool {
	return last.GVK() == t.GVK() && last.Key.Namespace == t.Key.Namespace && last.ReadsContent == t.ReadsContent && !t.Extracting
}

// add adds what a desired object needs, and reports whether that is new.
func (n *Needs) add(t *prepare.Object) bool {
	more := n.needed(t.GVK(), t.Key.Namespace)
	more = t.ReadsContent && note(n.content, t.GVK(), true) || more
	return t.Extracting && note(n.whole, t.Key, t.GVK()) || more
}

// all returns the kinds and namespaces needed so far.
func (n *Needs) all() []observe.Need {
	all := make([]observe.Need, 0, len(n.watched))
	for kind, namespaces := range n.watched {
		need := observe.Need{Kind: kind, Content: n.content[kind] || n.judges.NeedsContent(n.label, kind.GroupKind())}
		for id, gvk := range n.whole {
			if gvk == kind {
				need.Whole = append(need.Whole, apitypes.NamespacedName{Namespace: id.Namespace, Name: id.Name})
			}
		}
		for namespace := range namespaces {
			if namespace != "" {
				need.Namespaces = append(need.Namespaces, namespace)
			}
		}
		all = append(all, need)
	}
	slices.SortFunc(all, func(a, b observe.Need) int { return cmp.Compare(a.Kind.String(), b.Kind.String()) })
	return all
}

// needed adds a kind and namespace, and reports whether they are new.
func (n *Needs) needed(kind schema.GroupVersionKind, namespace string) bool {
	if n.watched[kind] == nil {
		n.watched[kind] = map[string]bool{}
	}
	return note(n.watched[kind], namespace, true)
}

// note sets an entry, and reports whether that is new.
func note[K, V comparable](entries map[K]V, key K, value V) (isNew bool) {
	isNew = entries[key] != value
	entries[key] = value
	return isNew
}
