// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// inquiry is one search for instances of managed types.
type inquiry struct {
	losses  *Losses
	demands []Demand
	except  string // value of the owner label; its objects and the owner itself do not count; if empty, all objects count
	// recorded returns the items of the owner by object.
	recorded func() map[types.ObjectID]*inventory.Item
}

// Instances returns one instance for each demanded type that has instances without the given owner label (if the label
// is empty: any instances); at most maxBlockers types. It asks about several types in parallel.
func (l *Losses) Instances(ctx context.Context, demands []Demand, except string) ([]inventory.Blocker, error) {
	mappings, err := l.resolve(ctx, demands)
	if err != nil {
		return nil, err
	}
	q := inquiry{
		losses: l, demands: demands, except: except,
		recorded: sync.OnceValue(func() map[types.ObjectID]*inventory.Item { return decide.Index(l.Items) }),
	}
	found := make([]*inventory.Blocker, len(mappings))
	err = concurrent.Each(l.Server.Concurrency, mappings, func(i int, mapping *meta.RESTMapping) (err error) {
		found[i], err = q.anInstance(ctx, mapping)
		return err
	})
	if err != nil {
		return nil, err
	}
	var blockers []inventory.Blocker
	for _, blocker := range found {
		if blocker != nil && len(blockers) < maxBlockers {
			blockers = append(blockers, *blocker)
		}
	}
	slices.SortFunc(blockers, func(a, b inventory.Blocker) int { return cmp.Compare(a.String(), b.String()) })
	return blockers, nil
}

// anInstance returns one instance of a type; nil if there is none. Discovery may be outdated: another version of the
// type may be served, and a server that forbids listing does not say that the type is not served at all.
func (q *inquiry) anInstance(ctx context.Context, mapping *meta.RESTMapping) (*inventory.Blocker, error) {
	found, err := q.search(ctx, mapping)
	if !execute.IsTypeless(err) && !apierrors.IsForbidden(err) {
		return found, err
	}
	served, lookErr := q.losses.Server.ServedNow(ctx, mapping.GroupVersionKind.GroupKind())
	switch {
	case lookErr != nil:
		return nil, lookErr
	case served == nil:
		return nil, nil
	case execute.IsTypeless(err):
		return q.search(ctx, served)
	default:
		return nil, err
	}
}

// search lists a type as the client. If that is forbidden, the other reader lists it, but only to find out whether
// there are instances, and only if not just the owner names the type. With except, instances do not count if the type's
// definition is not ours any more. Without it, any instance counts, because the definition is about to be deleted.
func (q *inquiry) search(ctx context.Context, mapping *meta.RESTMapping) (*inventory.Blocker, error) {
	found, err := q.list(ctx, q.losses.Server.Client, mapping)
	forbidden := apierrors.IsForbidden(err)
	if !forbidden && (found == nil || q.except == "") {
		return found, err
	}
	who, lookErr := decideLister(q.demands, mapping.GroupVersionKind, func(definition *inventory.Item) (bool, error) { return q.losses.isOurs(ctx, definition) })
	switch {
	case lookErr != nil:
		return nil, lookErr
	case who == listedByNobody && q.except == "":
		return nil, err
	case who == listedByNobody:
		return nil, nil
	case !forbidden:
		return found, nil
	case who == listedByClient:
		return nil, fmt.Errorf("%s is one of the additional managed types: %w", mapping.GroupVersionKind.GroupKind(), err)
	case q.losses.Server.Reading == nil:
		return nil, err
	}
	found, err = q.list(ctx, q.losses.Server.Reading, mapping)
	if found != nil {
		found.Namespace, found.Name = "", ""
	}
	return found, err
}

// list returns one instance of a type that counts; nil if there is none.
//
// The first page has no label selector, and a limit: the API server reads such a list from etcd while its cache of the
// type is empty. With a selector it would answer 429 (Too Many Requests), and ask to come again after a second, for
// each type that was not listed before.
func (q *inquiry) list(ctx context.Context, clnt cluster.Client, mapping *meta.RESTMapping) (found *inventory.Blocker, err error) {
	kind, seen := mapping.GroupVersionKind, 0
	visit := func(object client.Object) bool {
		seen++
		if q.except == "" || !q.isOwn(object) && !q.isDeparting(object) {
			found = &inventory.Blocker{Type: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		}
		return found == nil
	}
	const few = 2 // one may be the owner itself
	err = q.losses.Server.Each(ctx, clnt, kind, false, func(object client.Object) (bool, error) { return visit(object) && seen < few, nil }, client.Limit(few))
	if err == nil && found == nil && seen == few {
		var foreign labels.Selector
		if foreign, err = labels.Parse(q.losses.Server.Keys.OwnerLabel + "!=" + q.except); err != nil {
			return nil, fmt.Errorf("selecting foreign instances: %w", err)
		}
		err = q.losses.Server.Each(ctx, clnt, kind, false, func(object client.Object) (bool, error) { return visit(object), nil }, client.MatchingLabelsSelector{Selector: foreign})
	}
	if err != nil {
		return nil, fmt.Errorf("listing instances of %s: %w", kind.GroupKind(), err)
	}
	return found, nil
}

// isOwn reports whether an instance belongs to the owner: it has our label, it is the owner itself, or it is a
// dependent whose label others have removed. The record alone does not prove that; we must have written the instance.
func (q *inquiry) isOwn(instance client.Object) bool {
	label := instance.GetLabels()[q.losses.Server.Keys.OwnerLabel]
	if label == q.except {
		return true
	}
	if q.losses.Owner.Self != nil && types.IDOf(instance) == types.IDOf(q.losses.Owner.Self) {
		return true
	}
	item := q.recorded()[types.IDOf(instance)]
	return item != nil && item.UID != "" && item.UID == instance.GetUID() &&
		label == "" && !fieldset.IsCopy(instance, q.losses.Server.FieldOwner)
}

// isDeparting reports whether an instance is about to go, so that it does not count. Another object of the same name
// counts. If no UID is recorded, because the process died that had created the instance, its label and its field
// manager prove whose it is.
func (q *inquiry) isDeparting(instance client.Object) bool {
	return slices.ContainsFunc(q.losses.Departing, func(owner Departing) bool {
		isWritten := instance.GetLabels()[q.losses.Server.Keys.OwnerLabel] == owner.Label && !fieldset.IsCopy(instance, q.losses.Server.FieldOwner)
		return slices.ContainsFunc(owner.Items, func(item *inventory.Item) bool {
			return types.IDOf(item) == types.IDOf(instance) && (item.UID == instance.GetUID() || item.UID == "" && isWritten)
		})
	})
}

// Demand is a managed type, or a pattern of types, whose instances block a deletion.
type Demand struct {
	inventory.TypeVersionInfo
	// definition is the dependent that defines the type; nil if it is an additional one.
	definition *inventory.Item
	// configured means that the reconciler's options name the additional type, and not the owner.
	configured bool
}

// Demands returns the managed types of the owner, except those whose definitions are going to be orphaned: their
// instances stay.
func (l *Losses) Demands(ctx context.Context) ([]Demand, error) {
	var demands []Demand
	for _, additional := range l.Configured {
		demands = append(demands, Demand{TypeVersionInfo: inAnyVersion(additional), configured: true})
	}
	for _, additional := range l.Owner.AdditionalManagedTypes {
		demands = append(demands, Demand{TypeVersionInfo: inAnyVersion(additional)})
	}
	for _, item := range l.Items {
		if item.Phase == inventory.PhaseCompleted || prepare.IsOrphanedOnDelete(item.DeletePolicy) {
			continue
		}
		defined, err := l.DefinedBy(ctx, item)
		if err != nil {
			return nil, err
		}
		demands = append(demands, defined...)
	}
	return demands, nil
}

func inAnyVersion(t inventory.TypeInfo) inventory.TypeVersionInfo {
	return inventory.TypeVersionInfo{Group: t.Group, Version: prepare.Wildcard, Kind: t.Kind}
}

// DefinedBy returns the types that a dependent defines, according to its name. Recorded types count only if they match
// the name, so that instances are not lost because of a forged or incomplete record; otherwise the definition itself is
// read.
func (l *Losses) DefinedBy(ctx context.Context, item *inventory.Item) ([]Demand, error) {
	var defined []inventory.TypeVersionInfo
	switch kind := item.GroupVersionKind().GroupKind(); {
	case prepare.IsAPIService(kind):
		if version, group, ok := strings.Cut(item.Name, "."); ok {
			defined = []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: prepare.Wildcard}}
		}
	case prepare.IsCRD(kind):
		var err error
		if defined, err = l.crdTypes(ctx, item); err != nil {
			return nil, err
		}
	}
	demands := make([]Demand, len(defined))
	for i, pattern := range defined {
		demands[i] = Demand{TypeVersionInfo: pattern, definition: item}
	}
	return demands, nil
}

// crdTypes returns the type that a CustomResourceDefinition defines, in any version; nothing if the
// CustomResourceDefinition does not exist.
func (l *Losses) crdTypes(ctx context.Context, item *inventory.Item) ([]inventory.TypeVersionInfo, error) {
	for _, recorded := range item.ManagedTypes {
		mapping, err := l.Server.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: recorded.Group, Kind: recorded.Kind})
		switch {
		case cluster.IsNoMatch(err):
		case err != nil:
			return nil, fmt.Errorf("finding type %s.%s: %w", recorded.Kind, recorded.Group, err)
		case mapping.Resource.GroupResource().String() == item.Name:
			return []inventory.TypeVersionInfo{{Group: recorded.Group, Version: prepare.Wildcard, Kind: recorded.Kind}}, nil
		}
	}
	s, err := l.Server.AskAnyway(ctx, item)
	if err != nil || !s.Exists {
		return nil, err
	}
	return prepare.ManagedTypesOf(s.Live), nil
}

// lister says who lists instances that the client may not list.
type lister int

const (
	listedByNobody lister = iota // nobody: the recorded definition of the type is not ours (any more), so its instances do not count
	listedByClient               // only the client: the owner has named the type, and must not learn what its identity may not read
	listedByReader               // the client of the reconciler from which Reconciler.As made this one
)

// decideLister decides who lists the instances of a type. The record is no proof that an owner defines a type; the
// definition must be ours.
func decideLister(demands []Demand, gvk schema.GroupVersionKind, isOurs func(*inventory.Item) (bool, error)) (lister, error) {
	who := listedByNobody
	for _, d := range demands {
		switch {
		case !prepare.Matches(d.TypeVersionInfo, gvk):
		case d.configured:
			return listedByReader, nil
		case d.definition == nil:
			who = listedByClient
		default:
			if ours, err := isOurs(d.definition); ours || err != nil {
				return listedByReader, err
			}
		}
	}
	return who, nil
}

// isOurs reports whether a recorded object exists, and the owner is about to delete it.
func (l *Losses) isOurs(ctx context.Context, recorded *inventory.Item) (bool, error) {
	item := recorded.DeepCopy()
	s, err := l.Server.LookServed(ctx, item)
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	action, _ := l.Owner.Ending(item, s, decide.Deletion{})
	return action != decide.Gone, nil
}

// IsNothingLeft reports whether it is certain that no dependent exists any more.
func (l *Losses) IsNothingLeft(ctx context.Context) bool {
	return !slices.ContainsFunc(l.Items, func(recorded *inventory.Item) bool {
		if decide.Unwanted(recorded, prepare.IsOrphanedOnDelete) == nil {
			return false
		}
		ours, err := l.isOurs(ctx, recorded)
		return ours || err != nil
	})
}
