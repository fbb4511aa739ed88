// Package shop is derived from testdata/shop.txtar.
// +groupName=shop.valuetypes.example
// +versionName=v1
package shop

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	ShopValues `json:",inline"`
}

// ShopValues are the values of the chart. What is not set has the chart's default.
type ShopValues struct {
	// The service that nothing can run, so that its Deployment fails. Defaults to "".
	// +optional
	Broken *string `json:"broken,omitempty"`

	// Whether nothing can run the migration, so that it fails. Defaults to false.
	// +optional
	BrokenMigration *bool `json:"brokenMigration,omitempty"`

	// Defaults to "example.com/shop:1".
	// +optional
	Image *string `json:"image,omitempty"`

	// +optional
	Services []string `json:"services,omitzero"`
}
