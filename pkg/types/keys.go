// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// TypeKey identifies the type of an object. All Kubernetes objects implement it.
type TypeKey interface {
	GetObjectKind() schema.ObjectKind
}

// NameKey identifies an object of a given type. Namespace is empty for cluster-scoped objects.
type NameKey interface {
	GetNamespace() string
	GetName() string
}

// ObjectKey identifies an object in a cluster. All Kubernetes objects implement it.
type ObjectKey interface {
	TypeKey
	NameKey
}

// ObjectID identifies an object in a cluster, in any version. It is comparable.
type ObjectID struct {
	schema.GroupKind
	Namespace, Name string
}

// IDOf returns the identity of an object.
func IDOf(object ObjectKey) ObjectID {
	return ObjectID{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// String names the object as messages do; see ObjectText.
func (id ObjectID) String() string { return ObjectText(id.GroupKind, id.Namespace, id.Name) }

// Compare orders by group, kind, namespace and name. It returns a negative number if id comes before the other one,
// zero if they are equal, and a positive number otherwise.
func (id ObjectID) Compare(other ObjectID) int {
	return cmp.Or(
		cmp.Compare(id.Group, other.Group), cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name),
	)
}

type typeKey struct {
	gvk schema.GroupVersionKind
}

// TypeKeyFromGroupAndVersionAndKind returns the key of the given type.
func TypeKeyFromGroupAndVersionAndKind(group string, version string, kind string) TypeKey {
	return TypeKeyFromGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
}

// TypeKeyFromGroupVersionKind returns the key of the given type.
func TypeKeyFromGroupVersionKind(gvk schema.GroupVersionKind) TypeKey {
	return &typeKey{gvk: gvk}
}

// GetObjectKind returns the type; changes made through it change the key.
func (k *typeKey) GetObjectKind() schema.ObjectKind { return k }

func (k *typeKey) SetGroupVersionKind(gvk schema.GroupVersionKind) { k.gvk = gvk }
func (k *typeKey) GroupVersionKind() schema.GroupVersionKind       { return k.gvk }

// NameKeyFromNamespaceAndName returns the key of the given name.
func NameKeyFromNamespaceAndName(namespace string, name string) NameKey {
	return nameKey{Namespace: namespace, Name: name}
}

// NameKeyFromNamespacedName returns the key of the given name.
func NameKeyFromNamespacedName(namespaceName apitypes.NamespacedName) NameKey {
	return nameKey(namespaceName)
}

type nameKey apitypes.NamespacedName

func (k nameKey) GetNamespace() string { return k.Namespace }
func (k nameKey) GetName() string      { return k.Name }

// TypeKeyToString formats a type as schema.GroupVersionKind does, for example "apps/v1, Kind=Deployment" or "/v1,
// Kind=Secret".
func TypeKeyToString(key TypeKey) string { return key.GetObjectKind().GroupVersionKind().String() }

// NameKeyToString formats a name as <namespace>/<name>, or <name> if there is no namespace.
func NameKeyToString(key NameKey) string {
	if key.GetNamespace() == "" {
		return key.GetName()
	}
	return key.GetNamespace() + "/" + key.GetName()
}

// ObjectText names an object as messages do: "Deployment default/web", "Widget.example.com default/a". It leaves out
// the groups of Kubernetes itself.
func ObjectText(kind schema.GroupKind, namespace string, name string) string {
	text := kind.Kind
	if strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io") {
		text += "." + kind.Group
	}
	switch {
	case name != "":
		return text + " " + NameKeyToString(NameKeyFromNamespaceAndName(namespace, name))
	case namespace != "":
		return text + " in namespace " + namespace
	default:
		return text
	}
}

// ObjectKeyToString formats type and name, for example "apps/v1, Kind=Deployment default/web".
func ObjectKeyToString(key ObjectKey) string {
	return TypeKeyToString(key) + " " + NameKeyToString(key)
}
