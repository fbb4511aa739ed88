// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the kinds ObjectSet and ClusterObjectSet: objects in phases, of which each begins when the one
// before is available. On top of them are the kinds ObjectDeployment and ClusterObjectDeployment, which make such sets
// from a template.
//
// +kubebuilder:object:generate=true
// +groupName=core.component-operator.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "core.component-operator.dev", Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ObjectSet{}, &ObjectSetList{}, &ClusterObjectSet{}, &ClusterObjectSetList{},
		&ObjectDeployment{}, &ObjectDeploymentList{}, &ClusterObjectDeployment{}, &ClusterObjectDeploymentList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
