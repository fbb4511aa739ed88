// Package umbrella is derived from testdata/umbrella.txtar.
// +groupName=umbrella.valuetypes.example
// +versionName=v1
package umbrella

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "db": not checked before the chart is rendered: what is required of a subchart that may be switched off
// "global": any chart may take any global value
// Sample:
//
//	db:
//	  database: shop
//	  password: valuexxx
//	mail:
//	  relay: value

// +kubebuilder:object:root=true
type Fixture struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}

type Spec struct {
	UmbrellaValues `json:",inline"`
}

// UmbrellaValues are the values of the chart. What is not set has the chart's default.
// +kubebuilder:validation:XValidation:rule="(((has(self.mail) && has(self.mail.enabled)) && !(self.mail.enabled)) || (has(self.mail) && has(self.mail.relay)))",message="mail.relay: required unless the subchart is switched off"
type UmbrellaValues struct {
	// +optional
	Cache *UmbrellaCache `json:"cache,omitempty"`

	// +optional
	Db *UmbrellaDb `json:"db,omitempty"`

	// Switches a subchart on and off.
	// +optional
	DbEnabled *bool `json:"dbEnabled,omitempty"`

	// Values for all charts. Defaults to {"registry":""}.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Global map[string]apiextensionsv1.JSON `json:"global,omitzero"`

	// +optional
	Mail *UmbrellaMail `json:"mail,omitempty"`

	// +optional
	MetricsAgent *UmbrellaMetricsAgent `json:"metrics-agent,omitempty"`

	// Switches subcharts on and off. Defaults to {"storage":true}.
	// +optional
	Tags map[string]bool `json:"tags,omitzero"`

	// Defaults to "Shop".
	// +optional
	Title *string `json:"title,omitempty"`
}

// UmbrellaCache has the values below cache.
type UmbrellaCache struct {
	// Switches a subchart on and off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// +optional
	Eviction *UmbrellaCacheEviction `json:"eviction,omitempty"`

	// How much the cache holds. Defaults to 10.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// UmbrellaCacheEviction has the values below cache.eviction.
type UmbrellaCacheEviction struct {
	// Which entries go first. Defaults to "lru".
	// +optional
	Policy *string `json:"policy,omitempty"`
}

// UmbrellaDb has the values below db.
type UmbrellaDb struct {
	// +optional
	Database *string `json:"database,omitempty"`

	// Defaults to "secret-password".
	// +optional
	// +kubebuilder:validation:MinLength=8
	Password *string `json:"password,omitempty"`

	// Defaults to 5432.
	// +optional
	// +kubebuilder:validation:Maximum=65535
	Port *int64 `json:"port,omitempty"`

	// +optional
	TLS *bool `json:"tls,omitempty"`
}

// UmbrellaMail has the values below mail.
type UmbrellaMail struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Defaults to "".
	// +optional
	From *string `json:"from,omitempty"`

	// +optional
	Relay *string `json:"relay,omitempty"`
}

// UmbrellaMetricsAgent has the values below metrics-agent.
type UmbrellaMetricsAgent struct {
	// Switches a subchart on and off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Defaults to "30s".
	// +optional
	Interval *string `json:"interval,omitempty"`
}
