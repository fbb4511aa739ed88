// Package comments is derived from testdata/comments.txtar.
// +groupName=comments.valuetypes.example
// +versionName=v1
package comments

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "extra[]": values.yaml does not say what an element may be
// "imagePullSecrets[]": values.yaml does not say what an element may be
// "nameOverride": values.yaml has no default that shows its type
// "nodeSelector": users add fields to such an object
// "podAnnotations": values.yaml has an empty object
// "resources": values.yaml has an empty object
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
	CommentsValues `json:",inline"`
}

// CommentsValues are the values of the chart. What is not set has the chart's default.
type CommentsValues struct {
	// +optional
	X1password *CommentsX1password `json:"1password,omitempty"`

	// Defaults to 1.
	// +optional
	Foo *int64 `json:"Foo,omitempty"`

	// Defaults to ["--verbose"].
	// +optional
	Args []string `json:"args,omitzero"`

	// Defaults to [{"name":"a","value":1}].
	// +optional
	Extra []map[string]apiextensionsv1.JSON `json:"extra,omitzero"`

	// Defaults to 2.
	// +optional
	Factor *float64 `json:"factor,omitempty"`

	// Defaults to "2".
	// +optional
	Foo2 *string `json:"foo,omitempty"`

	// Defaults to "groß".
	// +optional
	Größe *string `json:"größe,omitempty"`

	// +optional
	Image *CommentsImage `json:"image,omitempty"`

	// Secrets for the registry. Defaults to [].
	// +optional
	ImagePullSecrets []apiextensionsv1.JSON `json:"imagePullSecrets,omitzero"`

	// +optional
	MySubChart *CommentsMySubChart `json:"my-sub-chart,omitempty"`

	// Overrides the name.
	// +optional
	NameOverride *apiextensionsv1.JSON `json:"nameOverride,omitempty"`

	// Defaults to {"kubernetes.io/os":"linux"}.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	NodeSelector map[string]apiextensionsv1.JSON `json:"nodeSelector,omitzero"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	PodAnnotations map[string]apiextensionsv1.JSON `json:"podAnnotations,omitzero"`

	// Defaults to [80,443].
	// +optional
	Ports []int64 `json:"ports,omitzero"`

	// How many pods there are. Defaults to 1.
	// +optional
	ReplicaCount *int64 `json:"replicaCount,omitempty"`

	// Resources of the container.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Resources map[string]apiextensionsv1.JSON `json:"resources,omitzero"`

	// Defaults to "ClusterIP".
	// +optional
	Type *string `json:"type,omitempty"`

	// Defaults to 0.5.
	// +optional
	Weight *float64 `json:"weight,omitempty"`
}

// CommentsX1password has the values below 1password.
type CommentsX1password struct {
	// Defaults to "".
	// +optional
	Token *string `json:"token,omitempty"`
}

// CommentsImage has the values below image.
type CommentsImage struct {
	// When the image is pulled. Defaults to "IfNotPresent".
	// +optional
	PullPolicy *string `json:"pullPolicy,omitempty"`

	// Where the image comes from. Defaults to "nginx".
	// +optional
	Repository *string `json:"repository,omitempty"`
}

// CommentsMySubChart has the values below my-sub-chart.
type CommentsMySubChart struct {
	// Defaults to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}
