// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
)

// Siblings are other owners of the same objects, of which one takes over from the other.
type Siblings struct {
	relations map[string]inventory.Relation // by owner ID
	ids       map[string]string             // by owner label
}

// NewSiblings returns the siblings with the given IDs.
func NewSiblings(relations map[string]inventory.Relation) Siblings {
	s := Siblings{relations: relations, ids: make(map[string]string, len(relations))}
	for id := range relations {
		s.ids[manifest.OwnerLabel(id)] = id
	}
	return s
}

// of returns the sibling that has an object or, if the object does not exist, was recorded to have it.
func (s Siblings) of(item *inventory.Item, situation decide.Situation) (id string, relation inventory.Relation) {
	switch {
	case !situation.Exists:
		id = item.Holder
	case situation.Seen.Owner != situation.Owner:
		id = s.ids[situation.Seen.Owner]
	}
	return id, s.relations[id]
}
