// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package bundles

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// ReconcilerName is the name of the operator under test, and the group of its components.
const ReconcilerName = "bench.component-operator.io"

// BundleDefinition is the definition of the components.
//
//go:embed crds/bench.component-operator.io_bundles.yaml
var BundleDefinition []byte

// DependentKind says what a bundle consists of.
//
// +kubebuilder:validation:Enum=ConfigMap;Deployment;Definition
type DependentKind string

const (
	// KindConfigMap makes each dependent a ConfigMap, which is ready as soon as it exists.
	KindConfigMap DependentKind = "ConfigMap"
	// KindDeployment makes each dependent a Deployment, which is ready when its status says so.
	KindDeployment DependentKind = "Deployment"
	// KindDefinition makes the first dependent the definition of a type that is named after the bundle, and the others
	// ConfigMaps.
	KindDefinition DependentKind = "Definition"
)

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
	// Dependents is their number.
	Dependents int64 `json:"dependents"`
	// Waves is the number of apply orders over which they are spread evenly. Defaults to 1.
	Waves int64 `json:"waves,omitempty"`
	// Steps is the number of steps over which they are spread evenly in each wave. Defaults to 1.
	Steps int64 `json:"steps,omitempty"`
	// PayloadBytes is the size of the content of each dependent.
	PayloadBytes int64 `json:"payloadBytes,omitempty"`
	// Kind defaults to ConfigMap.
	Kind DependentKind `json:"kind,omitempty"`
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

// GetSpec returns the parameters of the generator.
func (b *Bundle) GetSpec() types.Unstructurable {
	return types.UnstructurableMap{
		"dependents": b.Spec.Dependents, "waves": b.Spec.Waves, "steps": b.Spec.Steps, "payloadBytes": b.Spec.PayloadBytes, "kind": string(b.Spec.Kind), "salt": b.Spec.Salt,
	}
}

// GetStatus returns the part of the bundle that the reconciler writes.
func (b *Bundle) GetStatus() *component.Status { return &b.Status }

var groupVersion = schema.GroupVersion{Group: ReconcilerName, Version: "v1"}

// AddToScheme adds the types of bundles.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Bundle{}, &BundleList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
