// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package embedding has an API type as operators declare them, with each of our types that may stand in one. The code that
// copies it and its definition are generated, so that it proves that both can be.
//
// +groupName=component-test.example.io
// +versionName=v1
// +kubebuilder:object:generate=true
package embedding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Spec embeds what makes a component configurable, and has fields of all other types.
type Spec struct {
	component.PlacementSpec     `json:",inline"`
	component.ClientSpec        `json:",inline"`
	component.ImpersonationSpec `json:",inline"`
	component.SuspensionSpec    `json:",inline"`
	component.PresenceSpec      `json:",inline"`
	component.RequeueSpec       `json:",inline"`
	component.RetrySpec         `json:",inline"`
	component.TimeoutSpec       `json:",inline"`
	component.PolicySpec        `json:",inline"`
	component.ReconcileSpec     `json:",inline"`
	component.DriftSpec         `json:",inline"`
	component.TypeSpec          `json:",inline"`
	component.ReapplySpec       `json:",inline"`
	component.DeletionSpec      `json:",inline"`

	component.KubernetesProperties `json:",inline"`

	Former       *component.Spec                                    `json:"former,omitempty"`
	Image        component.ImageSpec                                `json:"image,omitempty"`
	Service      *component.ServiceProperties                       `json:"service,omitempty"`
	Ingress      *component.IngressProperties                       `json:"ingress,omitempty"`
	Sidecars     map[string]component.KubernetesContainerProperties `json:"sidecars,omitempty"`
	Pods         []component.KubernetesPodProperties                `json:"pods,omitempty"`
	Settings     *component.ConfigMapReference                      `json:"settings,omitempty"`
	Setting      *component.ConfigMapKeyReference                   `json:"setting,omitempty"`
	Credentials  []component.SecretReference                        `json:"credentials,omitempty"`
	Password     *component.SecretKeyReference                      `json:"password,omitempty" fallbackKeys:"password"`
	Patches      []manifests.KustomizePatch                         `json:"patches,omitempty"`
	Images       []manifests.KustomizeImage                         `json:"images,omitempty"`
	Selector     *manifests.KustomizeSelector                       `json:"selector,omitempty"`
	Types        []reconciler.TypeInfo                              `json:"types,omitempty"`
	Versions     []reconciler.TypeVersionInfo                       `json:"versions,omitempty"`
	Names        []reconciler.NameInfo                              `json:"names,omitempty"`
	Items        []*reconciler.InventoryItem                        `json:"items,omitempty"`
	Adoption     reconciler.AdoptionPolicy                          `json:"adoption,omitempty"`
	Phase        reconciler.Phase                                   `json:"phase,omitempty"`
	Conditions   []component.Condition                              `json:"conditions,omitempty"`
	FormerStatus *component.Status                                  `json:"formerStatus,omitempty"`
}

// Embedder is a component.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Embedder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}
