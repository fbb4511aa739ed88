// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependents

import (
	"github.com/component-operator/runtime/pkg/types"
)

// Names names the objects of one table or list. The zero value names them as messages do. It is not safe for concurrent use while objects are included.
type Names struct {
	namespace string
	// groups are the API groups of each kind that is included; nil means full names.
	groups map[string]map[string]bool
}

// NewNames returns the names for a writer with that limit of [terminal.Limit]. Without a limit, names are those of messages. Otherwise they are short:
// without the namespace if that is the given one, and without the API group unless objects of the same kind and another group are included. A short name
// still denotes the object in arguments of clm.
func NewNames(limit int, namespace string) Names {
	if limit <= 0 {
		return Names{}
	}
	return Names{namespace: namespace, groups: map[string]map[string]bool{}}
}

// Include says that an object is in the table. All objects must be included before the first one is named.
func (n Names) Include(object types.ObjectKey) {
	if n.groups == nil {
		return
	}
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	if n.groups[gk.Kind] == nil {
		n.groups[gk.Kind] = map[string]bool{}
	}
	n.groups[gk.Kind][gk.Group] = true
}

// Of names an object.
func (n Names) Of(object types.ObjectKey) string {
	if n.groups == nil {
		return Text(object)
	}
	name := types.NameKeyFromNamespaceAndName(object.GetNamespace(), object.GetName())
	if object.GetNamespace() == n.namespace {
		name = types.NameKeyFromNamespaceAndName("", object.GetName())
	}
	return n.kind(object) + " " + types.NameKeyToString(name)
}

// Below names an object that stands below its owner, and is in the same namespace.
func (n Names) Below(object types.ObjectKey) string { return n.kind(object) + " " + object.GetName() }

// kind names a kind, with the group only if another group has a kind of that name.
func (n Names) kind(object types.ObjectKey) string {
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	if len(n.groups[gk.Kind]) > 1 {
		return gk.String()
	}
	return gk.Kind
}
