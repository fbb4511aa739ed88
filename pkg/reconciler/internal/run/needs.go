// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

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
	kinds    map[schema.GroupVersionKind]*need
}

// need is what a call needs of one kind.
type need struct {
	namespaces sets.Set[string]
	content    bool // its objects are judged by their content
	whole      sets.Set[apitypes.NamespacedName]
}

// NewNeeds returns the needs of an owner, none so far.
func NewNeeds(ledger *Ledger, observer execute.Observer, owners *judges.Judges, label string) *Needs {
	return &Needs{ledger: ledger, observer: observer, judges: owners, label: label, kinds: map[schema.GroupVersionKind]*need{}}
}

// Watch has the observer watch the kinds of the desired objects and of redundant dependents. It leaves out kinds of
// desired objects beyond the given stage, because they may not be served yet, unless the inventory shows that a
// dependent exists.
func (n *Needs) Watch(ctx context.Context, wanted []*prepare.Object, upTo prepare.Stage) error {
	told, more := len(n.kinds) > 0, false
	var last *prepare.Object
	for _, t := range wanted {
		if last != nil && asLast(t, last) {
			continue
		}
		if t.Stage() <= upTo || n.ledger.Of(t).UID != "" {
			more = n.add(t.GVK(), t.Key, t.ReadsContent, t.Extracting) || more
			last = t
		}
	}
	for _, item := range n.ledger.Redundant() {
		more = n.add(item.GroupVersionKind(), types.IDOf(item), false, false) || more
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

// add adds what an object needs, and reports whether that is new.
func (n *Needs) add(kind schema.GroupVersionKind, key types.ObjectID, content, whole bool) (isNew bool) {
	known, name := n.kinds[kind], apitypes.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	if known == nil {
		known = &need{namespaces: sets.Set[string]{}, whole: sets.Set[apitypes.NamespacedName]{}}
		n.kinds[kind], isNew = known, true
	}
	isNew = isNew || !known.namespaces.Has(key.Namespace) || content && !known.content || whole && !known.whole.Has(name)
	known.namespaces.Insert(key.Namespace)
	known.content = known.content || content
	if whole {
		known.whole.Insert(name)
	}
	return isNew
}

// all returns the kinds and namespaces needed so far.
func (n *Needs) all() []observe.Need {
	all := make([]observe.Need, 0, len(n.kinds))
	for kind, known := range n.kinds {
		all = append(all, observe.Need{
			Kind: kind, Content: known.content || n.judges.NeedsContent(n.label, kind.GroupKind()), Whole: known.whole.UnsortedList(),
			Namespaces: known.namespaces.Clone().Delete("").UnsortedList(),
		})
	}
	slices.SortFunc(all, func(a, b observe.Need) int { return cmp.Compare(a.Kind.String(), b.Kind.String()) })
	return all
}
