// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The types in this file are building blocks for specs. The reconciler does not use them. ToUnstructured makes
// parameters of a spec.

// +kubebuilder:object:generate=true

// ImageSpec denotes a container image.
type ImageSpec struct {
	// Repository, including the registry host if there is one.
	Repository string `json:"repository,omitempty"`
	// Tag or digest.
	Tag string `json:"tag,omitempty"`
	// PullPolicy is one of Always, IfNotPresent, Never.
	PullPolicy string `json:"pullPolicy,omitempty"`
	// PullSecret is the name of a Secret in the namespace of the pod.
	PullSecret string `json:"pullSecret,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesPodProperties are properties of pods.
type KubernetesPodProperties struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	PriorityClassName         *string                           `json:"priorityClassName,omitempty"`
	PodSecurityContext        *corev1.PodSecurityContext        `json:"podSecurityContext,omitempty"`
	Labels                    map[string]string                 `json:"podLabels,omitempty"`
	Annotations               map[string]string                 `json:"podAnnotations,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesContainerProperties are properties of containers.
type KubernetesContainerProperties struct {
	SecurityContext *corev1.SecurityContext      `json:"securityContext,omitempty"`
	Resources       *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// +kubebuilder:object:generate=true

// KubernetesProperties are properties of pods with one container of interest.
type KubernetesProperties struct {
	KubernetesPodProperties       `json:",inline"`
	KubernetesContainerProperties `json:",inline"`
}

// +kubebuilder:object:generate=true

// ServiceProperties are properties of a Service.
type ServiceProperties struct {
	Type                     corev1.ServiceType                  `json:"type,omitempty"`
	LoadBalancerSourceRanges []string                            `json:"loadBalancerSourceRanges,omitempty"`
	ExternalTrafficPolicy    corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	Labels                   map[string]string                   `json:"labels,omitempty"`
	Annotations              map[string]string                   `json:"annotations,omitempty"`
}

// +kubebuilder:object:generate=true

// IngressProperties are properties of an Ingress.
type IngressProperties struct {
	Class       string            `json:"class,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ToUnstructured returns a spec as parameters for a generator, such as the values of a chart. It is meant to implement
// types.Unstructurable:
//
//	func (s *ShopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }
//
// The spec is a pointer to a struct. The result is what the spec is in JSON, with two differences:
//
// Embedded structs of this package that are meant for the reconciler, such as PlacementSpec, are left out.
//
// References that have the tag loadedAs are replaced by what was loaded, under the name that the tag gives. With the
// field
//
//	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" loadedAs:"password"`
//
// the result has the key password, a string, instead of passwordSecretRef, also if another field has that name. The
// content of a reference to all data of an object is a map of strings. Slices and maps of references become lists and
// maps of their content. A reference that is not set adds nothing. With loadedAs:"-", a reference is left out. Without
// the tag, the result has the reference itself: name and key.
//
// Integers are of type int64. ToUnstructured panics if the type of the spec has no JSON form, or has the tag at other
// fields than references to ConfigMaps and Secrets; so any test that calls it shows that.
func ToUnstructured(spec any) map[string]any {
	parameters, err := converter{}.convert(spec)
	utilruntime.Must(err)
	return parameters
}
