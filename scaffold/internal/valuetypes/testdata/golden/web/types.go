// Package web is derived from testdata/web.txtar.
// +groupName=web.valuetypes.example
// +versionName=v1
package web

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	intstr "k8s.io/apimachinery/pkg/util/intstr"
)

// "resources": the schema does not name the fields of this object
// Sample:
//
//	domain: example.org

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	WebValues `json:",inline"`
}

// WebValues are the values of the chart. What is not set has the chart's default.
//
// Values of web
type WebValues struct {
	// The domain under which the application is reached, which has to be registered with the
	// provider beforehand.
	// +required
	// +kubebuilder:validation:Format="hostname"
	Domain string `json:"domain"`

	// +optional
	Image *WebImage `json:"image,omitempty"`

	// +optional
	Ingress *WebIngress `json:"ingress,omitempty"`

	// +optional
	Labels map[string]WebLabel `json:"labels,omitzero"`

	// +optional
	// +kubebuilder:validation:Enum={"debug","info","warn"}
	LogLevel *string `json:"logLevel,omitempty"`

	// +optional
	// +nullable
	Note *string `json:"note,omitempty"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",message="must be an integer of 32 bits, or a string"
	Port *intstr.IntOrString `json:"port,omitempty"`

	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1
	Ratio *float64 `json:"ratio,omitempty"`

	// Number of replicas. Defaults to 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	Replicas *int64 `json:"replicas,omitempty"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Resources map[string]apiextensionsv1.JSON `json:"resources,omitzero"`

	// +optional
	Sidecar *WebSidecar `json:"sidecar,omitempty"`

	// +optional
	Storage *WebStorage `json:"storage,omitempty"`
}

// WebImage has the values below image.
type WebImage struct {
	// Defaults to "example.org/web".
	// +optional
	// +kubebuilder:validation:MinLength=1
	Repository *string `json:"repository,omitempty"`

	// Defaults to "".
	// +optional
	Tag *string `json:"tag,omitempty"`
}

// WebIngress has the values below ingress.
type WebIngress struct {
	// Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Defaults to [].
	// +optional
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	Hosts []WebIngressHost `json:"hosts,omitzero"`

	// Defaults to [].
	// +optional
	TLS []WebIngressTLSItem `json:"tls,omitzero"`
}

// WebIngressHost is a value in ingress.hosts.
// +kubebuilder:validation:Pattern=`^[a-z0-9.-]+$`
type WebIngressHost string

// WebIngressTLSItem has the values below ingress.tls.
type WebIngressTLSItem struct {
	// +optional
	Hosts []string `json:"hosts,omitzero"`

	// +required
	// +kubebuilder:validation:MinLength=1
	SecretName string `json:"secretName"`
}

// WebLabel is a value in labels.
// +kubebuilder:validation:MaxLength=63
type WebLabel string

// WebSidecar has the values below sidecar.
type WebSidecar struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Repository string `json:"repository"`

	// +optional
	Tag *string `json:"tag,omitempty"`
}

// WebStorage has the values below storage.
// +kubebuilder:validation:XValidation:rule="((!has(self.disk) && has(self.s3)) ? 1 : 0) + (has(self.disk) ? 1 : 0) + (!((has(self.disk) || has(self.s3))) ? 1 : 0) == 1",message="must match oneOf of the chart's schema"
type WebStorage struct {
	// +optional
	Disk *WebStorageDisk `json:"disk,omitempty"`

	// +optional
	S3 *WebStorageS3 `json:"s3,omitempty"`
}

// WebStorageDisk has the values below storage.disk.
type WebStorageDisk struct {
	// +optional
	Size *string `json:"size,omitempty"`
}

// WebStorageS3 has the values below storage.s3.
type WebStorageS3 struct {
	// +required
	Bucket string `json:"bucket"`
}
