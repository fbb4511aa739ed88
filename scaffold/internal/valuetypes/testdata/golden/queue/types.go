// Package queue is derived from testdata/queue.txtar.
// +groupName=queue.valuetypes.example
// +versionName=v1
package queue

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "topics": not checked before the chart is rendered: propertyNames
// "window[]": each element has a type of its own
// "zones": not checked before the chart is rendered: contains
// Sample:
//
//	owner: value

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	QueueValues `json:",inline"`
}

// QueueValues are the values of the chart. What is not set has the chart's default.
type QueueValues struct {
	// +optional
	Broker *QueueBroker `json:"broker,omitempty"`

	// +required
	Owner string `json:"owner"`

	// +optional
	// +kubebuilder:validation:MaxProperties=3
	Topics map[string]QueueTopic `json:"topics,omitzero"`

	// +optional
	// +kubebuilder:validation:Enum={"v2"}
	Version *string `json:"version,omitempty"`

	// Defaults to [].
	// +optional
	Window []apiextensionsv1.JSON `json:"window,omitzero"`

	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=set
	Zones []QueueZone `json:"zones,omitzero"`
}

// QueueBroker has the values below broker.
// +kubebuilder:validation:XValidation:rule="(!((has(self.kind) && self.kind == 'disk')) || has(self.disk))",message="must match if of the chart's schema"
// +kubebuilder:validation:XValidation:rule="(!has(self.user) || has(self.password))",message="must match dependentRequired of the chart's schema"
type QueueBroker struct {
	// +optional
	// +nullable
	// +kubebuilder:validation:Pattern=`^[0-9]+Gi$`
	Disk *string `json:"disk,omitempty"`

	// Defaults to "memory".
	// +optional
	// +kubebuilder:validation:Enum={"memory","disk"}
	Kind *string `json:"kind,omitempty"`

	// +optional
	Password *string `json:"password,omitempty"`

	// +optional
	User *string `json:"user,omitempty"`
}

// QueueTopic has the values below topics.
type QueueTopic struct {
	// +optional
	// +nullable
	Compact *bool `json:"compact,omitempty"`

	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:MultipleOf=3
	Partitions int64 `json:"partitions"`
}

// QueueZone is a value in zones.
// +kubebuilder:validation:MinLength=1
type QueueZone string
