// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
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

// String returns the name of the object for messages; see ObjectText.
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

// ObjectText returns the name of an object for messages: "Deployment default/web", "Widget.example.com default/a". It
// omits the groups of Kubernetes itself.
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

// Unstructurable is implemented by parameters of a generator, usually the spec of a component.
type Unstructurable interface {
	// ToUnstructured returns the value as maps, slices and scalars, like decoded JSON. The caller may change the
	// result.
	ToUnstructured() map[string]any
}

// UnstructurableMap makes a map usable as parameters of a generator.
type UnstructurableMap map[string]any

var _ Unstructurable = UnstructurableMap{}

// ToUnstructured returns a copy of the map. Values of type map[string]any and []any are copied too, others are shared.
func (m UnstructurableMap) ToUnstructured() map[string]any {
	return copyMap(m)
}

func copyMap(in map[string]any) map[string]any {
	out := maps.Clone(in)
	for key, value := range out {
		out[key] = copyValue(value)
	}
	return out
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copyMap(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = copyValue(item)
		}
		return out
	default:
		return value
	}
}

// SchemeBuilder adds types to a scheme. A generator that implements it contributes the types of the
// objects it returns.
type SchemeBuilder interface {
	AddToScheme(scheme *runtime.Scheme) error
}

// Selector selects objects of type T.
type Selector[T any] interface {
	// Matches reports whether the object is selected.
	Matches(object T) bool
}

// SelectorFunc is a function used as Selector.
type SelectorFunc[T any] func(object T) bool

// Matches calls the function.
func (f SelectorFunc[T]) Matches(object T) bool {
	return f(object)
}

// RetriableError wraps a temporary error. If the error of a hook, a reference or a generator wraps one, the component
// becomes Pending (DeletionPending while it is being deleted) instead of Error, and is reconciled again after a known
// delay.
type RetriableError struct {
	err        error
	retryAfter *time.Duration
}

// NewRetriableError wraps err. If retryAfter is nil, the retry interval of the component applies.
func NewRetriableError(err error, retryAfter *time.Duration) RetriableError {
	return RetriableError{err: err, retryAfter: retryAfter}
}

// Error returns the text of the wrapped error.
func (e RetriableError) Error() string {
	return e.err.Error()
}

// Unwrap returns the wrapped error.
func (e RetriableError) Unwrap() error {
	return e.err
}

// Cause returns the wrapped error.
//
// Deprecated: use Unwrap, or errors.Is and errors.As.
func (e RetriableError) Cause() error {
	return e.err
}

// RetryAfter returns how long to wait before retrying, or nil for the retry interval of the component.
func (e RetriableError) RetryAfter() *time.Duration {
	return e.retryAfter
}

const (
	// MinOrder is the smallest value of an apply, purge or delete order.
	MinOrder = -1 << 15
	// MaxOrder is the largest value of an apply, purge or delete order.
	MaxOrder = 1<<15 - 1
)

const (
	// PostApplyOrder is added to the apply orders of post-apply hooks, so that they come after all other waves in
	// inventories, plans and results.
	PostApplyOrder = 100_000
	// OnFailureOrder is added to the apply orders of on-failure hooks.
	OnFailureOrder = 200_000
)

// SplitOrder splits an apply order of an inventory into the kind of hook, which is empty for other objects, and the
// apply order of the object.
func SplitOrder(order int) (hook string, wave int) {
	switch {
	case order >= OnFailureOrder+MinOrder:
		return ApplyHookOnFailure, order - OnFailureOrder
	case order >= PostApplyOrder+MinOrder:
		return ApplyHookPostApply, order - PostApplyOrder
	default:
		return "", order
	}
}

// WaveText names the wave with an apply or delete order of an inventory: "wave 3", "post-apply wave 3", or "the first
// wave" for MinOrder.
func WaveText(order int) string {
	hook, wave := SplitOrder(order)
	switch {
	case hook != "":
		return hook + " wave " + strconv.Itoa(wave)
	case wave == MinOrder:
		return "the first wave"
	default:
		return "wave " + strconv.Itoa(wave)
	}
}
