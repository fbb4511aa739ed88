// Package names is derived from testdata/names.txtar.
// +groupName=names.valuetypes.example
// +versionName=v1
package names

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "": objects that do not forbid further fields have only those that the schema or values.yaml names
// "odd": not checked before the chart is rendered: anyOf, because of ü, whose name CEL does not have
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
	NamesValues `json:",inline"`
}

// NamesValues are the values of the chart. What is not set has the chart's default.
type NamesValues struct {
	// Defaults to "i".
	// +optional
	X1 *string `json:"1,omitempty"`

	// Defaults to "h".
	// +optional
	DeepCopyInto2 *string `json:"DeepCopyInto,omitempty"`

	// Defaults to "d".
	// +optional
	MyName *string `json:"MyName,omitempty"`

	// Defaults to "j".
	// +optional
	AB *string `json:"a b,omitempty"`

	// +optional
	AB2 *NamesAB2 `json:"a-b,omitempty"`

	// Defaults to "k".
	// +optional
	AB3 *string `json:"a.b,omitempty"`

	// Defaults to "l".
	// +optional
	AB4 *string `json:"a/b,omitempty"`

	// +optional
	Classes []NamesClass `json:"classes,omitzero"`

	// Defaults to "g".
	// +optional
	DeepCopy2 *string `json:"deepCopy,omitempty"`

	// Defaults to "f".
	// +optional
	Func *string `json:"func,omitempty"`

	// Defaults to "p".
	// +optional
	HTTPURL *string `json:"httpURL,omitempty"`

	// +optional
	In *NamesIn `json:"in,omitempty"`

	// Defaults to "a".
	// +optional
	MyName2 *string `json:"my-name,omitempty"`

	// Defaults to "c".
	// +optional
	MyName3 *string `json:"myName,omitempty"`

	// Defaults to "b".
	// +optional
	MyName4 *string `json:"my_name,omitempty"`

	// +optional
	Odd *NamesOdd `json:"odd,omitempty"`

	// +optional
	Policies []NamesPolicy `json:"policies,omitzero"`

	// kubebuilder:validation:MaxLength=1 is no marker here.
	//
	// optional `quoted` "text". Defaults to "e".
	// +optional
	Type *string `json:"type,omitempty"`

	// Defaults to "o".
	// +optional
	URL *string `json:"url,omitempty"`

	// Defaults to "q".
	// +optional
	Ünder *string `json:"ünder,omitempty"`

	// Defaults to "m".
	// +optional
	X日本 *string `json:"日本,omitempty"`
}

// NamesAB2 has the values below a-b.
// +kubebuilder:validation:XValidation:rule="(has(self.c__dot__d) || has(self.__in__) || has(self.e__underscores__f))",message="must match anyOf of the chart's schema"
type NamesAB2 struct {
	// +optional
	CD *string `json:"c.d,omitempty"`

	// +optional
	EF *string `json:"e__f,omitempty"`

	// +optional
	In *string `json:"in,omitempty"`
}

// NamesClass has the values below classes.
type NamesClass struct {
	// +optional
	// +kubebuilder:validation:Enum={"a\"b","c\\d","e`f","g,h}","i:j",""}
	Class *string `json:"class,omitempty"`
}

// NamesIn has the values below in.
type NamesIn struct {
	// Defaults to 1.
	// +optional
	If *int64 `json:"if,omitempty"`

	// Defaults to 2.
	// +optional
	Then *int64 `json:"then,omitempty"`
}

// NamesOdd has the values below odd.
type NamesOdd struct {
	// +optional
	V *string `json:"v,omitempty"`

	// +optional
	Ü *string `json:"ü,omitempty"`
}

// NamesPolicy is a value in policies.
// +kubebuilder:validation:Pattern="^[`'\"\\\\a-z]+$"
type NamesPolicy string
