// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AnnotationChangeCause is an annotation with a text that says why something was changed. It is copied from a
// deployment to its newest set. Other tools know it as well.
const AnnotationChangeCause = "kubernetes.io/change-cause"

// AnnotationTemplateDigest is an annotation of sets that a deployment has made: the digest of the template at that
// time. If the API server stores a set that is different from the template, because somebody has a webhook for sets, it
// is the set of that template nevertheless.
const AnnotationTemplateDigest = "core.component-operator.dev/template-digest"

// DeploymentSpec is what the specs of ObjectDeployments and ClusterObjectDeployments have in common.
type DeploymentSpec struct {
	// Paused stops the rollout: no set is created, changed or deleted, except that all sets which are not archived are
	// paused as well. Defaults to false.
	Paused bool `json:"paused,omitempty"`
	// RevisionHistoryLimit is how many archived sets are kept. Defaults to 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// ProgressDeadlineSeconds is how long a set may take to become available before it is reported as stalled. Defaults
	// to 600.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
	// Selector must match the labels of the template. It selects nothing: the sets of the deployment have the label
	// core.component-operator.dev/revisions-of. Defaults to none.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// RollbackTo has the spec of an earlier set copied to the template. The same write removes this field. Defaults to
	// none.
	RollbackTo *RollbackTarget `json:"rollbackTo,omitempty"`
}

// RollbackTarget names an earlier set.
type RollbackTarget struct {
	// Revision of the set. Defaults to 0: the latest set before the current one that has succeeded.
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`
}

// TemplateMetadata is metadata for sets. It is used when a set is created: a change does not concern existing sets.
type TemplateMetadata struct {
	// Labels of the set. Defaults to none.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="!('core.component-operator.dev/revisions-of' in self)",message="core.component-operator.dev/revisions-of names the deployment"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the set. Defaults to none.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ObjectSetTemplate describes the ObjectSets of a deployment.
type ObjectSetTemplate struct {
	// Metadata of the sets. Defaults to none.
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the sets. A change leads to another set.
	Spec ObjectSetTemplateSpec `json:"spec"`
}

// ObjectSetTemplateSpec is the part of the spec of an ObjectSet that a deployment does not decide about.
type ObjectSetTemplateSpec struct {
	SetContent `json:",inline"`
	// ServiceAccountName is the name of a ServiceAccount in the namespace of the deployment. Objects are read and
	// written with its permissions. Without it, they are with those of the operator, and must be in the namespace of
	// the deployment.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ObjectDeploymentSpec is the desired state of an ObjectDeployment.
type ObjectDeploymentSpec struct {
	DeploymentSpec `json:",inline"`
	// Template of the sets.
	Template ObjectSetTemplate `json:"template"`
}

// ObjectDeployment rolls out ObjectSets: each change of its template makes a new set, which adopts the objects of the
// earlier ones phase by phase. The earlier ones are archived when it has succeeded.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=odeploy,categories=components
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name may have 63 characters: it becomes the value of a label"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name=Set,type=string,priority=1,JSONPath=`.status.setName`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ObjectDeploymentSpec `json:"spec"`
	Status DeploymentStatus     `json:"status,omitempty"`
}

// ObjectDeploymentList is a list of ObjectDeployments.
//
// +kubebuilder:object:root=true
type ObjectDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ObjectDeployment `json:"items"`
}

// ClusterObjectSetTemplate describes the ClusterObjectSets of a deployment.
type ClusterObjectSetTemplate struct {
	// Metadata of the sets. Defaults to none.
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the sets. A change leads to another set.
	Spec SetContent `json:"spec"`
}

// ClusterObjectDeploymentSpec is the desired state of a ClusterObjectDeployment.
type ClusterObjectDeploymentSpec struct {
	DeploymentSpec `json:",inline"`
	// Template of the sets.
	Template ClusterObjectSetTemplate `json:"template"`
}

// ClusterObjectDeployment rolls out ClusterObjectSets, as an ObjectDeployment rolls out ObjectSets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=codeploy,categories=components
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name may have 63 characters: it becomes the value of a label"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name=Set,type=string,priority=1,JSONPath=`.status.setName`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterObjectDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterObjectDeploymentSpec `json:"spec"`
	Status DeploymentStatus            `json:"status,omitempty"`
}

// ClusterObjectDeploymentList is a list of ClusterObjectDeployments.
//
// +kubebuilder:object:root=true
type ClusterObjectDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterObjectDeployment `json:"items"`
}

// DeploymentStatus is the status of a deployment.
type DeploymentStatus struct {
	// ObservedGeneration is the generation of the deployment that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is the highest that a set of the deployment has had.
	Revision int64 `json:"revision,omitempty"`
	// SetName is the name of the newest set; empty if there is none.
	SetName string `json:"setName,omitempty"`
	// Conditions are Available, Progressing, Paused, Ready and Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a deployment.
const (
	// DeploymentAvailable is True if the newest set is available, or an earlier one still is.
	DeploymentAvailable = "Available"
	// DeploymentProgressing is True until the newest set has succeeded and the earlier ones are archived.
	DeploymentProgressing = "Progressing"
	// DeploymentPaused is True while the deployment is paused, and is missing otherwise.
	DeploymentPaused = "Paused"
	// DeploymentReady is True if the newest set is available and nothing is left to do. It is for tools that know this
	// condition from other objects.
	DeploymentReady = "Ready"
	// DeploymentStalled is True if nothing goes on without a change by somebody. It is for tools that know this
	// condition from other objects.
	DeploymentStalled = "Stalled"
)

// Reasons of the conditions of a deployment. The reasons of sets are among them.
const (
	// ReasonPreviousAvailable means that the newest set is not available, and an earlier one still is.
	ReasonPreviousAvailable = "PreviousRevisionAvailable"
	// ReasonSetUnavailable means that no set is available.
	ReasonSetUnavailable = "ObjectSetUnavailable"
	// ReasonPendingSuccess means that the newest set is available, and has not succeeded yet.
	ReasonPendingSuccess = "PendingSuccess"
	// ReasonArchiving means that the newest set has succeeded, and earlier ones are being archived.
	ReasonArchiving = "Archiving"
	// ReasonRollbackRefused means that spec.rollbackTo names no set to roll back to.
	ReasonRollbackRefused = "RollbackRefused"
	// ReasonWriteRefused means that the API server refuses a write.
	ReasonWriteRefused = "WriteRefused"
	// ReasonRetrying means that a write has failed and is repeated.
	ReasonRetrying = "Retrying"
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
