// Package database is derived from testdata/database.txtar.
// +groupName=database.valuetypes.example
// +versionName=v1
package database

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	intstr "k8s.io/apimachinery/pkg/util/intstr"
)

// "tree.children[]": the schema refers to itself
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
	DatabaseValues `json:",inline"`
}

// DatabaseValues are the values of the chart. What is not set has the chart's default.
// +kubebuilder:validation:XValidation:rule="(!((has(self.mode) && self.mode == 'cluster')) || has(self.replicas))",message="must match if of the chart's schema"
type DatabaseValues struct {
	// +optional
	Auth *DatabaseAuth `json:"auth,omitempty"`

	// +optional
	Backup *DatabaseBackup `json:"backup,omitempty"`

	// +optional
	// +nullable
	Comment *string `json:"comment,omitempty"`

	// +optional
	Deputy *DatabaseUser `json:"deputy,omitempty"`

	// +optional
	// +kubebuilder:validation:Enum={"low","high"}
	Level *string `json:"level,omitempty"`

	// +optional
	// +kubebuilder:validation:MultipleOf=64
	Memory *int64 `json:"memory,omitempty"`

	// Defaults to "standalone".
	// +optional
	// +kubebuilder:validation:Enum={"standalone","cluster"}
	Mode *string `json:"mode,omitempty"`

	// +optional
	Owner *DatabaseUser `json:"owner,omitempty"`

	// +optional
	// +kubebuilder:validation:Minimum=2
	Replicas *int64 `json:"replicas,omitempty"`

	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	Shards *int64 `json:"shards,omitempty"`

	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",message="must be an integer of 32 bits, or a string"
	// +kubebuilder:validation:XValidation:rule="((type(self) == string && (type(self) != string || self.matches('^[0-9]+Gi$'))) || (type(self) == int && (type(self) != int || self >= 1)))",message="must match anyOf of the chart's schema"
	Size *intstr.IntOrString `json:"size,omitempty"`

	// +optional
	TLS *DatabaseTLS `json:"tls,omitempty"`

	// +optional
	Tree *DatabaseTree `json:"tree,omitempty"`

	// +optional
	// +kubebuilder:validation:MinItems=1
	Users []DatabaseUser `json:"users,omitzero"`
}

// DatabaseAuth has the values below auth.
// +kubebuilder:validation:XValidation:rule="(has(self.password) ? 1 : 0) + (has(self.existingSecret) ? 1 : 0) + ((!has(self.existingSecret) && !has(self.password)) ? 1 : 0) == 1",message="must match oneOf of the chart's schema"
type DatabaseAuth struct {
	// +optional
	ExistingSecret *string `json:"existingSecret,omitempty"`

	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=64
	Password *string `json:"password,omitempty"`

	// Defaults to "admin".
	// +optional
	User *string `json:"user,omitempty"`
}

// DatabaseBackup has the values below backup.
// +kubebuilder:validation:XValidation:rule="(!has(self.schedule) || has(self.target))",message="must match dependentRequired of the chart's schema"
type DatabaseBackup struct {
	// When, as cron writes it.
	// +optional
	// +kubebuilder:validation:Pattern=`^\S+ \S+ \S+ \S+ \S+$`
	Schedule *string `json:"schedule,omitempty"`

	// +optional
	Target *DatabaseBackupTarget `json:"target,omitempty"`
}

// DatabaseBackupTarget has the values below backup.target.
// +kubebuilder:validation:XValidation:rule="(((has(self.type) && has(self.bucket)) && ((!has(self.bucket) || size(self.bucket) >= 3) && (!has(self.type) || self.type == 's3')) && !has(self.claim)) ? 1 : 0) + (((has(self.type) && has(self.claim)) && (!has(self.type) || self.type == 'volume') && !has(self.bucket)) ? 1 : 0) == 1",message="must match oneOf of the chart's schema"
type DatabaseBackupTarget struct {
	// +optional
	Bucket *string `json:"bucket,omitempty"`

	// +optional
	Claim *string `json:"claim,omitempty"`

	// +optional
	Type *string `json:"type,omitempty"`
}

// DatabaseUser has the values below deputy.
type DatabaseUser struct {
	// +optional
	Admin *bool `json:"admin,omitempty"`

	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]+$`
	Name string `json:"name"`
}

// DatabaseTLS has the values below tls.
// +kubebuilder:validation:XValidation:rule="((!((has(self.enabled) && (!has(self.enabled) || self.enabled == true))) || has(self.secret)) && ((has(self.enabled) && (!has(self.enabled) || self.enabled == true)) || !has(self.secret)))",message="must match if of the chart's schema"
type DatabaseTLS struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// +optional
	Secret *string `json:"secret,omitempty"`
}

// DatabaseTree has the values below tree.
type DatabaseTree struct {
	// +optional
	Children []apiextensionsv1.JSON `json:"children,omitzero"`

	// +optional
	Name *string `json:"name,omitempty"`
}
