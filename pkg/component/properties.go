// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	corev1 "k8s.io/api/core/v1"
)

// The types in this file are building blocks for specs. The reconciler does not use them.

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
