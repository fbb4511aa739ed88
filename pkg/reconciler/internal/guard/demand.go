// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

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
