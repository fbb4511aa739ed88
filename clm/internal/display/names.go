// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"

	"github.com/component-operator/runtime/pkg/types"
)

// Names names the objects of one table or list. The zero value names them as messages do. It is not safe for concurrent
// use.
type Names struct {
	namespace string
	room      int
	// groups are the API groups of each kind that is included; nil means full names.
	groups map[string]map[string]bool
}

// NewNames returns the names for a terminal in which a name has that many cells. If there are none, there is no
// terminal, and names are those of messages. Otherwise they are short: without the namespace if that is the given one,
// and without the API group unless objects of the same kind and another group are included. Such a name still denotes
// the object in arguments of clm. A name that is too long has a short kind, if there is one. It may still be longer
// than the room.
func NewNames(room int, namespace string) *Names {
	if room <= 0 {
		return &Names{}
	}
	return &Names{namespace: namespace, room: room, groups: map[string]map[string]bool{}}
}

// Include says that an object is in the table. All objects must be included before the first one is named.
func (n *Names) Include(object types.ObjectKey) {
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
func (n *Names) Of(object types.ObjectKey) string {
	switch {
	case n.groups == nil:
		return Text(object)
	case object.GetNamespace() == n.namespace:
		return n.fit(object, "")
	default:
		return n.fit(object, object.GetNamespace())
	}
}

// Below names an object that stands below its owner, and is in the same namespace.
func (n *Names) Below(object types.ObjectKey) string {
	if n.groups == nil {
		return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
	}
	return n.fit(object, "")
}

// shortKinds are common names of long kinds.
var shortKinds = map[string]string{
	"CustomResourceDefinition": "CRD", "HorizontalPodAutoscaler": "HPA", "PersistentVolumeClaim": "PVC", "PodDisruptionBudget": "PDB",
}

// fit names an object, with a short kind if the name is too long otherwise. The kind has its group only if another
// group has a kind of that name.
func (n *Names) fit(object types.ObjectKey, namespace string) string {
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	kind, name := gk.Kind, " "+types.NameKeyToString(types.NameKeyFromNamespaceAndName(namespace, object.GetName()))
	if len(n.groups[gk.Kind]) > 1 {
		kind = gk.String()
	}
	if Width(kind+name) > n.room {
		kind = cmp.Or(shortKinds[kind], kind)
	}
	return kind + name
}
