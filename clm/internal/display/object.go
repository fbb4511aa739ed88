// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// Object identifies an object in a cluster. It is the form in which programs are told of it.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is empty if the object is not there, or does not matter.
	UID apitypes.UID `json:"uid,omitempty"`
}

// ObjectOf returns the identity of an object, without its UID.
func ObjectOf(object types.ObjectKey) Object {
	version, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return Object{APIVersion: version, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// GetObjectKind returns the type; changes made through it do not affect the object.
func (o Object) GetObjectKind() schema.ObjectKind {
	return types.TypeKeyFromGroupVersionKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)).GetObjectKind()
}

// GetNamespace returns the namespace; empty for cluster-scoped objects.
func (o Object) GetNamespace() string { return o.Namespace }

// GetName returns the name.
func (o Object) GetName() string { return o.Name }

// Key returns what identifies the object whatever its version is.
func (o Object) Key() Key {
	return Key{GroupKind: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), Namespace: o.Namespace, Name: o.Name}
}

// String names the object as messages do, for example "Deployment default/web".
func (o Object) String() string { return o.Key().String() }

// isHarmless matches what needs no quotes in a command.
var isHarmless = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`)

// Argument names the object as commands take it, for example "Deployment/default/web"; or OBJECT if that is not safe in
// a shell, because somebody has put anything into the record.
func (o Object) Argument() string {
	if argument := strings.Replace(o.String(), " ", "/", 1); isHarmless.MatchString(argument) {
		return argument
	}
	return "OBJECT"
}

// Compare sorts objects by kind, API version, namespace and name.
func (o Object) Compare(other Object) int {
	return cmp.Or(cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.APIVersion, other.APIVersion),
		cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}

// Key identifies an object, whatever the version it is accessed by.
type Key struct {
	schema.GroupKind
	Namespace, Name string
}

// KeyOf returns the key of an object.
func KeyOf(object types.ObjectKey) Key {
	return Key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// String names the object as messages do.
func (k Key) String() string { return types.ObjectText(k.GroupKind, k.Namespace, k.Name) }

// Text names an object as messages do.
func Text(object types.ObjectKey) string { return KeyOf(object).String() }

// IsJob reports whether an object is a Job, which may remove itself after it has finished.
func IsJob(object types.ObjectKey) bool {
	return KeyOf(object).GroupKind == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// Namespace returns the namespace in which an object is applied with a release of the given namespace; empty if its
// type has no namespaces.
func Namespace(mapper meta.RESTMapper, object client.Object, namespace string) (string, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		// It was never applied: then it is not known yet whether its type has namespaces.
		return object.GetNamespace(), nil
	case err != nil:
		return "", fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return "", nil
	default:
		return cmp.Or(object.GetNamespace(), namespace), nil
	}
}

// Keys returns the keys of objects that are applied with a release of the given namespace.
func Keys(mapper meta.RESTMapper, list []client.Object, namespace string) (map[Key]bool, error) {
	keys := make(map[Key]bool, len(list))
	for _, object := range list {
		placed, err := Namespace(mapper, object, namespace)
		if err != nil {
			return nil, err
		}
		keys[Key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), Namespace: placed, Name: object.GetName()}] = true
	}
	return keys, nil
}
