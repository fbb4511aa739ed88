// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"maps"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
)

// siblingCalls makes calls of the engine for a component that has siblings.
type siblingCalls struct {
	// Find returns what other components are to the component. It reads them through the reader.
	Find func(ctx context.Context, reader client.Reader) (map[apitypes.NamespacedName]inventory.Relation, error)
	// Cached reads from a cache, and Live from the API server.
	Cached, Live client.Reader
	// Self is the component.
	Self apitypes.NamespacedName
	// OwnerID returns the ID that the engine knows a component by.
	OwnerID func(key apitypes.NamespacedName) string
}

// Among makes a call with the siblings of the component, by owner ID. If the call finds a dependent of a foreign owner,
// the cache may lag behind: Among then asks the API server, and repeats the call if the answer differs.
func (s siblingCalls) Among(ctx context.Context, call func(siblings map[string]inventory.Relation) (foreign bool, err error)) error {
	cached, err := s.by(ctx, s.Cached)
	if err != nil {
		return err
	}
	foreign, err := call(cached)
	if !foreign {
		return err
	}
	live, lookErr := s.by(ctx, s.Live)
	switch {
	case lookErr != nil:
		return lookErr
	case maps.Equal(live, cached):
		return err
	}
	_, err = call(live)
	return err
}

// by returns the siblings, read through a reader.
func (s siblingCalls) by(ctx context.Context, reader client.Reader) (map[string]inventory.Relation, error) {
	found, err := s.Find(ctx, reader)
	if err != nil {
		return nil, fmt.Errorf("finding siblings: %w", err)
	}
	relations := make(map[string]inventory.Relation, len(found))
	for key, relation := range found {
		if relation != inventory.RelationOlder && relation != inventory.RelationNewer || key == s.Self {
			return nil, fmt.Errorf("finding siblings: %s: invalid relation %q; must be %s or %s, and not a relation to itself",
				key, relation, inventory.RelationOlder, inventory.RelationNewer)
		}
		relations[s.OwnerID(key)] = relation
	}
	return relations, nil
}
