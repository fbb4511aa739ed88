// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Deployment is an ObjectDeployment or a ClusterObjectDeployment.
//
// +kubebuilder:object:generate=false
type Deployment interface {
	client.Object
	// GetDeploymentSpec returns a pointer to what the specs of both kinds have in common.
	GetDeploymentSpec() *DeploymentSpec
	// GetDeploymentStatus returns a pointer to the status.
	GetDeploymentStatus() *DeploymentStatus
	// NewSet returns a set that is made from the template, without a name and revision.
	NewSet() Set
	// Makes reports whether the template makes a set with the spec of the given one. Whether that is paused or
	// archived, its revision and its metadata do not matter.
	Makes(set Set) bool
	// TemplateSpec returns the spec of the template, TemplateSpecOf that of a template that makes a set with the spec
	// of the given one.
	TemplateSpec() any
	TemplateSpecOf(set Set) any
}

var (
	_ Deployment = &ObjectDeployment{}
	_ Deployment = &ClusterObjectDeployment{}
)

// GetDeploymentSpec returns a pointer to the spec, without the template.
func (d *ObjectDeployment) GetDeploymentSpec() *DeploymentSpec { return &d.Spec.DeploymentSpec }

// GetDeploymentStatus returns a pointer to the status.
func (d *ObjectDeployment) GetDeploymentStatus() *DeploymentStatus { return &d.Status }

// NewSet implements Deployment.
func (d *ObjectDeployment) NewSet() Set {
	set, template := &ObjectSet{}, d.Spec.Template.DeepCopy()
	set.Namespace = d.Namespace
	set.Labels, set.Annotations = template.Metadata.Labels, template.Metadata.Annotations
	set.Spec.SetContent, set.Spec.ServiceAccountName = template.Spec.SetContent, template.Spec.ServiceAccountName
	return set
}

// Makes implements Deployment.
func (d *ObjectDeployment) Makes(set Set) bool {
	objectSet, ok := set.(*ObjectSet)
	return ok && objectSet.Spec.ServiceAccountName == d.Spec.Template.Spec.ServiceAccountName && d.Spec.Template.Spec.equal(&objectSet.Spec.SetContent)
}

// TemplateSpec implements Deployment.
func (d *ObjectDeployment) TemplateSpec() any { return d.Spec.Template.Spec }

// TemplateSpecOf implements Deployment.
func (d *ObjectDeployment) TemplateSpecOf(set Set) any {
	spec := ObjectSetTemplateSpec{SetContent: set.GetSetSpec().SetContent}
	if objectSet, ok := set.(*ObjectSet); ok {
		spec.ServiceAccountName = objectSet.Spec.ServiceAccountName
	}
	return spec
}

// GetDeploymentSpec returns a pointer to the spec, without the template.
func (d *ClusterObjectDeployment) GetDeploymentSpec() *DeploymentSpec { return &d.Spec.DeploymentSpec }

// GetDeploymentStatus returns a pointer to the status.
func (d *ClusterObjectDeployment) GetDeploymentStatus() *DeploymentStatus { return &d.Status }

// NewSet implements Deployment.
func (d *ClusterObjectDeployment) NewSet() Set {
	set, template := &ClusterObjectSet{}, d.Spec.Template.DeepCopy()
	set.Labels, set.Annotations = template.Metadata.Labels, template.Metadata.Annotations
	set.Spec.SetContent = template.Spec
	return set
}

// Makes implements Deployment.
func (d *ClusterObjectDeployment) Makes(set Set) bool {
	objectSet, ok := set.(*ClusterObjectSet)
	return ok && d.Spec.Template.Spec.equal(&objectSet.Spec.SetContent)
}

// TemplateSpec implements Deployment.
func (d *ClusterObjectDeployment) TemplateSpec() any { return d.Spec.Template.Spec }

// TemplateSpecOf implements Deployment.
func (d *ClusterObjectDeployment) TemplateSpecOf(set Set) any { return set.GetSetSpec().SetContent }

// TemplateDigest returns a digest of the spec of the template; empty if it cannot be encoded.
func TemplateDigest(deployment Deployment) string {
	encoded, err := json.Marshal(deployment.TemplateSpec())
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

// equal reports whether two contents are the same. Manifests are compared as values: how they are written does not
// matter.
func (c *SetContent) equal(other *SetContent) bool {
	return c.CollisionProtection == other.CollisionProtection && c.SuccessDelaySeconds == other.SuccessDelaySeconds &&
		equality.Semantic.DeepEqual(c.AvailabilityProbes, other.AvailabilityProbes) &&
		slices.EqualFunc(c.Phases, other.Phases, func(a, b Phase) bool {
			return a.Name == b.Name && slices.EqualFunc(a.Objects, b.Objects, func(a, b Object) bool {
				return a.CollisionProtection == b.CollisionProtection && equalManifests(a.Object, b.Object)
			})
		})
}

// equalManifests reports whether two manifests have the same value. The API server writes equal ones equally, so values
// are seldom needed.
func equalManifests(a, b runtime.RawExtension) bool {
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var first, second map[string]any
	return json.Unmarshal(a.Raw, &first) == nil && json.Unmarshal(b.Raw, &second) == nil && equality.Semantic.DeepEqual(first, second)
}
