// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"slices"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/types"
)

// Reference may be implemented by any type, or a pointer to it, in the spec of a component of type T. The reconciler
// loads it before the spec is used.
type Reference[T Component] interface {
	// Load reads the referenced object, at most once per reconciliation. The client is that of the manager. A missing
	// object should be a types.RetriableError.
	Load(ctx context.Context, clnt client.Client, component T) error
	// Digest identifies the loaded content, and is called after Load. A new digest starts a new revision.
	Digest() string
}

// The references below denote objects in the namespace of the component. The reconciler loads them before hooks and
// generator run, and watches the objects. Before that, they are empty. Their content must not be changed.
//
// Two tags of the struct field with a reference (directly, or in a pointer, slice or map) control how it is loaded:
// fallbackKeys:"a,b" lists the keys to try if the reference names none, and notFoundPolicy:"ignoreOnDeletion" leaves
// the content empty if object or key are missing while the component is being deleted. A third one,
// loadedAs:"password", says how ToUnstructured passes the content to generators.

// +kubebuilder:object:generate=true

// ConfigMapReference is a reference to all data of a ConfigMap.
type ConfigMapReference struct {
	// Name of the ConfigMap, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	data map[string]string `json:"-"`
}

// Data returns the loaded data.
func (r *ConfigMapReference) Data() map[string]string { return r.data }

// +kubebuilder:object:generate=true

// ConfigMapKeyReference is a reference to one key of a ConfigMap.
type ConfigMapKeyReference struct {
	// Name of the ConfigMap, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the ConfigMap; the default depends on where the reference is used.
	// +optional
	Key string `json:"key,omitempty"`

	value string `json:"-"`
}

// Value returns the loaded value.
func (r *ConfigMapKeyReference) Value() string { return r.value }

// +kubebuilder:object:generate=true

// SecretReference is a reference to all data of a Secret.
type SecretReference struct {
	// Name of the Secret, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	data map[string][]byte `json:"-"`
}

// Data returns the loaded data.
func (r *SecretReference) Data() map[string][]byte { return r.data }

// +kubebuilder:object:generate=true

// SecretKeyReference is a reference to one key of a Secret.
type SecretKeyReference struct {
	// Name of the Secret, in the namespace of the component.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in the Secret; the default depends on where the reference is used.
	// +optional
	Key string `json:"key,omitempty"`

	value []byte `json:"-"`
}

// Value returns the loaded value.
func (r *SecretKeyReference) Value() []byte { return r.value }

// objectReference is one of the four references above.
type objectReference interface {
	// target returns kind and name.
	target() (observe.ReferenceKind, string)
	// load sets the content, and returns the input of its digest.
	load(content *observe.ReferencedContent, fallbackKeys []string) (any, error)
	// content returns the loaded content: a string, or a map of strings.
	content() any
}

var (
	_ objectReference = &ConfigMapReference{}
	_ objectReference = &ConfigMapKeyReference{}
	_ objectReference = &SecretReference{}
	_ objectReference = &SecretKeyReference{}
)

func (r *ConfigMapReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedConfigMap, r.Name
}

func (r *ConfigMapKeyReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedConfigMap, r.Name
}

func (r *SecretReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedSecret, r.Name
}

func (r *SecretKeyReference) target() (observe.ReferenceKind, string) {
	return observe.ReferencedSecret, r.Name
}

func (r *ConfigMapReference) content() any    { return values(r.data) }
func (r *ConfigMapKeyReference) content() any { return r.value }
func (r *SecretReference) content() any       { return values(r.data) }
func (r *SecretKeyReference) content() any    { return string(r.value) }

// values returns data as generators expect them.
func values[V string | []byte](data map[string]V) map[string]any {
	result := make(map[string]any, len(data))
	for key, value := range data {
		result[key] = string(value)
	}
	return result
}

func (r *ConfigMapReference) load(content *observe.ReferencedContent, _ []string) (any, error) {
	data := make(map[string]string, len(content.Data))
	for key, value := range content.Data {
		data[key] = string(value)
	}
	r.data = data
	return data, nil
}

func (r *ConfigMapKeyReference) load(content *observe.ReferencedContent, fallbackKeys []string) (any, error) {
	value, err := pick(content, r.Key, fallbackKeys)
	if err != nil {
		return nil, err
	}
	r.value = string(value)
	return r.value, nil
}

func (r *SecretReference) load(content *observe.ReferencedContent, _ []string) (any, error) {
	data := make(map[string][]byte, len(content.Data))
	for key, value := range content.Data {
		data[key] = slices.Clone(value)
	}
	r.data = data
	return data, nil
}

func (r *SecretKeyReference) load(content *observe.ReferencedContent, fallbackKeys []string) (any, error) {
	value, err := pick(content, r.Key, fallbackKeys)
	if err != nil {
		return nil, err
	}
	r.value = slices.Clone(value)
	return r.value, nil
}

// LoadReferences loads the references of a spec, a pointer to a struct, as the reconciler does: from the given
// namespace, which is that of the component. If objects or keys are missing, the error is a types.RetriableError that
// names them. Only the types of references of this package are loaded, no implementations of Reference. It is for
// programs that call generators themselves, such as tests.
func LoadReferences(ctx context.Context, reader client.Reader, namespace string, spec any) error {
	found, err := (&loading{source: source{reader}, key: apitypes.NamespacedName{Namespace: namespace}, spec: spec}).load(ctx)
	if err == nil && len(found.Missing) > 0 {
		err = types.NewRetriableError(errors.New(awaiting(found.Missing)), nil)
	}
	return err
}

// awaiting says that a component waits for references.
func awaiting(missing []string) string {
	return "waiting for references: " + outcomes.Join(missing, "; ")
}

// source reads references from a client.Reader.
type source struct{ client.Reader }

// Use does nothing: changes are not awaited.
func (source) Use(apitypes.NamespacedName, []observe.ReferenceKey) {}

// Read reads an object.
func (s source) Read(ctx context.Context, _ apitypes.NamespacedName, key observe.ReferenceKey) (*observe.ReferencedContent, error) {
	return observe.ReadReference(ctx, s.Reader, key)
}
