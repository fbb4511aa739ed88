// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependents

import (
	"cmp"
	"strings"

	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/pkg/types"
)

// Names names the objects of one table or list. The zero value names them as messages do. It is not safe for concurrent use.
type Names struct {
	namespace string
	room      int
	// groups are the API groups of each kind that is included; nil means full names.
	groups map[string]map[string]bool
	// objects are those that are included, by their full names.
	objects map[string]types.ObjectKey
	// beginnings counts the names with each beginning, up to a separator or the end; names are the names that were counted.
	beginnings map[string]int
	names      map[string]bool
	// shared is the beginning that is left out of long names, and texts counts the objects that have the same name without it.
	// They are nil before the first object is named.
	shared *string
	texts  map[string]int
}

// NewNames returns the names for a terminal in which a name has that many cells. If there are none, there is no terminal, and names are those of messages.
// Otherwise they are short: without the namespace if that is the given one, and without the API group unless objects of the same kind and another group
// are included. Such a name still denotes the object in arguments of clm. A name that is too long has a short kind, and then an ellipsis for the beginning
// that many names of the table share, so that what distinguishes it is seen. It may still be longer than the room.
func NewNames(room int, namespace string) *Names {
	if room <= 0 {
		return &Names{}
	}
	return &Names{
		namespace: namespace, room: room, groups: map[string]map[string]bool{}, objects: map[string]types.ObjectKey{}, beginnings: map[string]int{},
		names: map[string]bool{},
	}
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
	n.objects[Text(object)] = object
	name := object.GetName()
	if n.names[name] {
		return
	}
	n.names[name] = true
	n.beginnings[name]++
	for i, r := range name {
		if strings.ContainsRune(separators, r) {
			n.beginnings[name[:i]]++
		}
	}
}

// separators are between the parts of a name.
const separators = "-.:"

// Of names an object.
func (n *Names) Of(object types.ObjectKey) string {
	if n.groups == nil {
		return Text(object)
	}
	return n.distinct(object, n.namespaceOf(object))
}

// namespaceOf returns the namespace that the name of an object has.
func (n *Names) namespaceOf(object types.ObjectKey) string {
	if object.GetNamespace() == n.namespace {
		return ""
	}
	return object.GetNamespace()
}

// Below names an object that stands below its owner, and is in the same namespace.
func (n *Names) Below(object types.ObjectKey) string {
	if n.groups == nil {
		return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
	}
	return n.distinct(object, "")
}

// distinct names an object in as many cells as there are, unless another object would have the same name then.
func (n *Names) distinct(object types.ObjectKey, namespace string) string {
	if n.texts == nil {
		n.texts = map[string]int{}
		for _, each := range n.objects {
			n.texts[n.fit(each, n.namespaceOf(each))]++
		}
	}
	if text := n.fit(object, namespace); n.texts[text] < 2 {
		return text
	}
	return n.kind(object) + " " + types.NameKeyToString(types.NameKeyFromNamespaceAndName(namespace, object.GetName()))
}

// fit names an object in as many cells as there are, if that is possible with a short kind and without the shared beginning.
func (n *Names) fit(object types.ObjectKey, namespace string) string {
	kind, name := n.kind(object), object.GetName()
	text := func() string {
		return kind + " " + types.NameKeyToString(types.NameKeyFromNamespaceAndName(namespace, name))
	}
	if terminal.Width(text()) <= n.room {
		return text()
	}
	if plural, _, isType := strings.Cut(name, "."); isType && kind == crd {
		if kind = shortKind(kind); terminal.Width(text()) > n.room {
			name = plural + ".…"
		}
		return text()
	}
	if kind = shortKind(kind); terminal.Width(text()) > n.room {
		if rest, shares := strings.CutPrefix(name, n.sharedBeginning()); shares && rest != "" && strings.ContainsRune(separators, rune(rest[0])) {
			name = "…" + rest
		}
	}
	return text()
}

// minShared is the length from which on a beginning is worth leaving out.
const minShared = 4

// sharedBeginning returns the beginning that takes the most room in all names. What two beginnings left out could not be told apart.
func (n *Names) sharedBeginning() string {
	if n.shared != nil {
		return *n.shared
	}
	best := ""
	for beginning, count := range n.beginnings {
		if count > 1 && len(beginning) >= minShared {
			if order := cmp.Compare(count*len(beginning), n.beginnings[best]*len(best)); order > 0 || order == 0 && beginning > best {
				best = beginning
			}
		}
	}
	n.shared = &best
	return best
}

const crd = "CustomResourceDefinition"

// shortKinds are common names of long kinds.
var shortKinds = map[string]string{
	crd: "CRD", "HorizontalPodAutoscaler": "HPA", "PersistentVolumeClaim": "PVC", "PodDisruptionBudget": "PDB",
}

// maxKind is the width to which other kinds are shortened.
const maxKind = 16

// shortKind shortens a kind, unless it has a group, without which it would be ambiguous.
func shortKind(kind string) string {
	if strings.Contains(kind, ".") {
		return kind
	}
	return cmp.Or(shortKinds[kind], terminal.Truncate(kind, maxKind))
}

// kind names a kind, with the group only if another group has a kind of that name.
func (n *Names) kind(object types.ObjectKey) string {
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	if len(n.groups[gk.Kind]) > 1 {
		return gk.String()
	}
	return gk.Kind
}
