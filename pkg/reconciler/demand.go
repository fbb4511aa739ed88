// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
)

// demand is a type, or a pattern of types, of whose instances a deletion must know.
type demand struct {
	TypeVersionInfo
	// definition is the dependent that brings the type; nil if it is an additional one.
	definition *InventoryItem
	// configured means that the type is named by Options, hence by who runs the reconciler. Other additional types are named by owners.
	configured bool
}

// demands returns the types of whose instances must be known before the owner is deleted.
func (p *pass) demands(ctx context.Context) ([]demand, error) {
	var demands []demand
	for _, additional := range p.options.AdditionalManagedTypes {
		demands = append(demands, demand{TypeVersionInfo: additional.anyVersion(), configured: true})
	}
	for _, additional := range p.owner.AdditionalManagedTypes {
		demands = append(demands, demand{TypeVersionInfo: additional.anyVersion()})
	}
	released := !slices.ContainsFunc(p.items, func(item *InventoryItem) bool {
		return item.Phase != PhaseCompleted && !item.DeletePolicy.orphanedOnDelete()
	})
	if released {
		return demands, nil
	}
	for _, item := range p.items {
		if item.Phase == PhaseCompleted {
			continue
		}
		brought, err := p.broughtBy(ctx, item)
		if err != nil {
			return nil, err
		}
		demands = append(demands, brought...)
	}
	return demands, nil
}

func (t TypeInfo) anyVersion() TypeVersionInfo {
	return TypeVersionInfo{Group: t.Group, Version: wildcard, Kind: t.Kind}
}

// broughtBy returns the types that a dependent defines. Its name says which ones. What is recorded counts only as far as it agrees with the name,
// so that instances are not lost if the record is forged or incomplete; otherwise the definition itself is read.
func (p *pass) broughtBy(ctx context.Context, item *InventoryItem) ([]demand, error) {
	var brought []TypeVersionInfo
	switch kind := item.GroupVersionKind().GroupKind(); {
	case isAPIService(kind):
		if version, group, ok := strings.Cut(item.Name, "."); ok {
			brought = []TypeVersionInfo{{Group: group, Version: version, Kind: wildcard}}
		}
	case isCRD(kind):
		var err error
		if brought, err = p.definedBy(ctx, item); err != nil {
			return nil, err
		}
	}
	demands := make([]demand, len(brought))
	for i, pattern := range brought {
		demands[i] = demand{TypeVersionInfo: pattern, definition: item}
	}
	return demands, nil
}

// definedBy returns the type that a CustomResourceDefinition defines, in any version; nothing if there is no such CustomResourceDefinition.
func (p *pass) definedBy(ctx context.Context, item *InventoryItem) ([]TypeVersionInfo, error) {
	for _, recorded := range item.ManagedTypes {
		mapping, err := p.client.RESTMapper().RESTMapping(schema.GroupKind{Group: recorded.Group, Kind: recorded.Kind})
		switch {
		case cluster.IsNoMatch(err):
		case err != nil:
			return nil, fmt.Errorf("finding type %s.%s: %w", recorded.Kind, recorded.Group, err)
		case mapping.Resource.GroupResource().String() == item.Name:
			return []TypeVersionInfo{{Group: recorded.Group, Version: wildcard, Kind: recorded.Kind}}, nil
		}
	}
	var live *unstructured.Unstructured
	err := p.readAnyway(func(clnt cluster.Client) (err error) {
		live, err = lookUp(ctx, clnt, item)
		return err
	})
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyOf(item), err)
	}
	return managedTypesOf(live), nil
}

// sight says who may look for instances that the identity of the client may not list.
type sight int

const (
	sightNobody sight = iota // nobody needs to: what was recorded as the definition of the type is not ours (any more)
	sightClient              // nobody else: the owner has named the type, and must not learn what its identity may not know
	sightReader              // the client of the reconciler from which this one was made
)

// decideSight decides who may look for instances of a type. That a type is recorded is no reason: there has to be a definition that is ours.
func decideSight(demands []demand, gvk schema.GroupVersionKind, isOurs func(*InventoryItem) (bool, error)) (sight, error) {
	who := sightNobody
	for _, d := range demands {
		switch {
		case !d.matches(gvk):
		case d.configured:
			return sightReader, nil
		case d.definition == nil:
			who = sightClient
		default:
			if ours, err := isOurs(d.definition); ours || err != nil {
				return sightReader, err
			}
		}
	}
	return who, nil
}

// isOurs reports whether there is a recorded object, and the owner is about to delete it.
func (p *pass) isOurs(ctx context.Context, recorded *InventoryItem) (bool, error) {
	item := recorded.DeepCopy()
	s, err := p.lookServed(ctx, item)
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", keyOf(item), err)
	}
	action, _ := p.ending(item, s, deletion{})
	return action != endingGone, nil
}

// isNothingLeft reports whether it is certain that none of the dependents exists any more.
func (p *pass) isNothingLeft(ctx context.Context) bool {
	return !slices.ContainsFunc(p.items, func(recorded *InventoryItem) bool {
		if planUnwanted(recorded, DeletePolicy.orphanedOnDelete) == nil {
			return false
		}
		ours, err := p.isOurs(ctx, recorded)
		return ours || err != nil
	})
}
