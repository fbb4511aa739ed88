// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// reconcilerName is the name of the operator under test, and the group of its components.
const reconcilerName = "bench.component-operator.io"

// bundleDefinition is the definition of the components.
//
//go:embed crds/bench.component-operator.io_bundles.yaml
var bundleDefinition []byte

// Bundle is the component under test: as many dependents as its spec says.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BundleSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}

// BundleSpec says what the dependents are.
type BundleSpec struct {
	// Dependents is the number of ConfigMaps.
	Dependents int64 `json:"dependents"`
	// Waves is the number of apply orders over which they are spread evenly. Defaults to 1.
	Waves int64 `json:"waves,omitempty"`
	// PayloadBytes is the size of the content of each dependent.
	PayloadBytes int64 `json:"payloadBytes,omitempty"`
	// Salt is part of the content of the first dependent; changing it changes that one.
	Salt string `json:"salt,omitempty"`
}

// BundleList is a list of bundles.
//
// +kubebuilder:object:root=true
type BundleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bundle `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (b *Bundle) DeepCopyObject() runtime.Object { return b.copied() }

func (b *Bundle) copied() *Bundle {
	copied := *b
	b.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	b.Status.DeepCopyInto(&copied.Status)
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *BundleList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Bundle, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].copied()
	}
	return &copied
}

// GetSpec implements component.Component.
func (b *Bundle) GetSpec() types.Unstructurable {
	return types.UnstructurableMap{
		"dependents": b.Spec.Dependents, "waves": b.Spec.Waves, "payloadBytes": b.Spec.PayloadBytes, "salt": b.Spec.Salt,
	}
}

// GetStatus implements component.Component.
func (b *Bundle) GetStatus() *component.Status { return &b.Status }

// isReady reports whether the component is ready in its generation.
func (b *Bundle) isReady() bool {
	state, _, _ := b.Status.GetState()
	return b.Status.ObservedGeneration == b.Generation && state == component.StateReady
}

// addToScheme adds the types of the components.
func addToScheme(scheme *runtime.Scheme) {
	groupVersion := schema.GroupVersion{Group: reconcilerName, Version: "v1"}
	scheme.AddKnownTypes(groupVersion, &Bundle{}, &BundleList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// bundleGenerator generates the dependents. It is pure.
type bundleGenerator struct{}

// Fingerprint implements manifests.Pure.
func (bundleGenerator) Fingerprint() string { return "bundle/1" }

// Generate implements manifests.Generator.
func (bundleGenerator) Generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	values := parameters.ToUnstructured()
	number := func(key string) int64 {
		value, _ := values[key].(int64)
		return value
	}
	salt, _ := values["salt"].(string)
	count, waves := number("dependents"), max(1, number("waves"))
	objects := make([]client.Object, 0, count)
	for i := range count {
		content := payload(int(number("payloadBytes")))
		if i == 0 {
			content += salt
		}
		object := newConfigMap(dependentName(name, int(i)), content)
		object.SetNamespace(namespace)
		if waves > 1 {
			order := strconv.FormatInt(i*waves/count, 10)
			object.SetAnnotations(map[string]string{reconcilerName + "/" + types.AnnotationKeySuffixApplyOrder: order})
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// dependentName returns the name of a dependent.
func dependentName(bundle string, index int) string { return fmt.Sprintf("%s-%d", bundle, index) }

// payload returns a text of this size.
func payload(size int) string { return strings.Repeat("0123456789abcdef", size/16+1)[:size] }

func newConfigMap(name, content string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
		"data":       map[string]any{"content": content},
	}}
}
