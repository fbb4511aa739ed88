// Package bitnami is derived from testdata/bitnami.txtar.
// +groupName=bitnami.valuetypes.example
// +versionName=v1
package bitnami

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "commonLabels": values.yaml has an empty object
// "existingClaim": values.yaml has no default that shows its type
// "extraEnvVars[]": values.yaml does not say what an element may be
// "global": any chart may take any global value
// "image.pullSecrets[]": values.yaml does not say what an element may be
// "podSecurityContext": users add fields to such an object
// "tolerations[]": values.yaml does not say what an element may be
// Sample:
//
//	{}

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	BitnamiValues `json:",inline"`
}

// BitnamiValues are the values of the chart. What is not set has the chart's default.
type BitnamiValues struct {
	// Labels for all objects
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	CommonLabels map[string]apiextensionsv1.JSON `json:"commonLabels,omitzero"`

	// +optional
	ContainerPorts *BitnamiContainerPorts `json:"containerPorts,omitempty"`

	// +optional
	ExistingClaim *apiextensionsv1.JSON `json:"existingClaim,omitempty"`

	// Extra variables. Defaults to [].
	// +optional
	ExtraEnvVars []apiextensionsv1.JSON `json:"extraEnvVars,omitzero"`

	// Global values, see https://example.org. Defaults to {"imageRegistry":"","storageClass":""}.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Global map[string]apiextensionsv1.JSON `json:"global,omitzero"`

	// Image
	// +optional
	Image *BitnamiImage `json:"image,omitempty"`

	// Override the version of Kubernetes. Defaults to "".
	// +optional
	KubeVersion *string `json:"kubeVersion,omitempty"`

	// +optional
	Persistence *BitnamiPersistence `json:"persistence,omitempty"`

	// Defaults to {"enabled":true,"fsGroup":1001}.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	PodSecurityContext map[string]apiextensionsv1.JSON `json:"podSecurityContext,omitzero"`

	// Preset (none, nano, micro). Defaults to "nano".
	// +optional
	ResourcesPreset *string `json:"resourcesPreset,omitempty"`

	// Tolerations. Defaults to [].
	// +optional
	Tolerations []apiextensionsv1.JSON `json:"tolerations,omitzero"`
}

// BitnamiContainerPorts has the values below containerPorts.
type BitnamiContainerPorts struct {
	// HTTP container port. Defaults to 8080.
	// +optional
	HTTP *int64 `json:"http,omitempty"`
}

// BitnamiImage has the values below image.
//
// Image
type BitnamiImage struct {
	// Enable debug mode. Defaults to false.
	// +optional
	Debug *bool `json:"debug,omitempty"`

	// Defaults to "IfNotPresent".
	// +optional
	PullPolicy *string `json:"pullPolicy,omitempty"`

	// Optionally name secrets. Defaults to [].
	// +optional
	PullSecrets []apiextensionsv1.JSON `json:"pullSecrets,omitzero"`

	// Registry of the image. Defaults to "docker.io".
	// +optional
	Registry *string `json:"registry,omitempty"`

	// Tag of the image (immutable tags are recommended). Defaults to "1.2.3".
	// +optional
	Tag *string `json:"tag,omitempty"`
}

// BitnamiPersistence has the values below persistence.
type BitnamiPersistence struct {
	// Modes. Defaults to ["ReadWriteOnce"].
	// +optional
	AccessModes []string `json:"accessModes,omitzero"`

	// Size. Defaults to "8Gi".
	// +optional
	Size *string `json:"size,omitempty"`

	// If set to "-", storageClassName: "", which disables dynamic provisioning +note: nothing.
	// Defaults to "-".
	// +optional
	StorageClass *string `json:"storageClass,omitempty"`
}
