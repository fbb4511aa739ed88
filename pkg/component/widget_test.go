// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

var testGroup = schema.GroupVersion{Group: "component-test.example.io", Version: "v1"}

// WidgetSpec has all capabilities.
type WidgetSpec struct {
	PlacementSpec     `json:",inline"`
	ClientSpec        `json:",inline"`
	ImpersonationSpec `json:",inline"`
	SuspensionSpec    `json:",inline"`
	PresenceSpec      `json:",inline"`
	RequeueSpec       `json:",inline"`
	RetrySpec         `json:",inline"`
	TimeoutSpec       `json:",inline"`
	PolicySpec        `json:",inline"`
	ReconcileSpec     `json:",inline"`
	DriftSpec         `json:",inline"`
	TypeSpec          `json:",inline"`
	ReapplySpec       `json:",inline"`
	DeletionSpec      `json:",inline"`
	DependencySpec    `json:",inline"`

	// Probes are those of the judge; nil for the default one.
	Probes []probes.Probe `json:"probes,omitempty"`
	// Objects are the dependents.
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Password is handed to dependents by a transformer.
	Password *SecretKeyReference `json:"password,omitempty" fallbackKeys:"password"`
	// Banner may be gone when the widget is deleted.
	Banner *ConfigMapReference `json:"banner,omitempty" notFoundPolicy:"ignoreOnDeletion"`
	// Endpoint is a value of another object.
	Endpoint *ValueReference `json:"endpoint,omitempty" loadedAs:"url"`
}

// ToUnstructured converts the spec.
func (s *WidgetSpec) ToUnstructured() map[string]any {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	result := map[string]any{}
	if err := json.Unmarshal(raw, &result); err != nil {
		panic(err)
	}
	return result
}

// Widget is a component.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec,omitempty"`
	Status WidgetStatus `json:"status,omitempty"`
}

// WidgetStatus has a field of its own.
type WidgetStatus struct {
	Status `json:",inline"`
	Extra  string `json:"extra,omitempty"`
}

func (w *Widget) GetSpec() types.Unstructurable  { return &w.Spec }
func (w *Widget) GetStatus() *Status             { return &w.Status.Status }
func (w *Widget) DeepCopyObject() runtime.Object { return deepCopy(w) }

// GetJudge returns a judge if there are probes.
func (w *Widget) GetJudge() (status.Judge, error) {
	if w.Spec.Probes == nil {
		return nil, nil
	}
	return probes.New(w.Spec.Probes, nil)
}

// OldWidget is a component whose definition is outdated.
type OldWidget Widget

func (w *OldWidget) GetSpec() types.Unstructurable  { return &w.Spec }
func (w *OldWidget) GetStatus() *Status             { return &w.Status.Status }
func (w *OldWidget) DeepCopyObject() runtime.Object { return deepCopy(w) }

// AncientWidget is a component whose definition does not know all states.
type AncientWidget Widget

func (w *AncientWidget) GetSpec() types.Unstructurable  { return &w.Spec }
func (w *AncientWidget) GetStatus() *Status             { return &w.Status.Status }
func (w *AncientWidget) DeepCopyObject() runtime.Object { return deepCopy(w) }

// GlobalWidget is a component without a namespace.
type GlobalWidget Widget

func (w *GlobalWidget) GetSpec() types.Unstructurable  { return &w.Spec }
func (w *GlobalWidget) GetStatus() *Status             { return &w.Status.Status }
func (w *GlobalWidget) DeepCopyObject() runtime.Object { return deepCopy(w) }

// WidgetList and so on make the types complete.
type (
	WidgetList        list[Widget]
	OldWidgetList     list[OldWidget]
	AncientWidgetList list[AncientWidget]
	GlobalWidgetList  list[GlobalWidget]

	list[T any] struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []T `json:"items"`
	}
)

func (l *WidgetList) DeepCopyObject() runtime.Object        { return deepCopy(l) }
func (l *OldWidgetList) DeepCopyObject() runtime.Object     { return deepCopy(l) }
func (l *AncientWidgetList) DeepCopyObject() runtime.Object { return deepCopy(l) }
func (l *GlobalWidgetList) DeepCopyObject() runtime.Object  { return deepCopy(l) }

// deepCopy loses what JSON does not have, such as loaded references.
func deepCopy[T any](in *T) *T {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	return out
}

func testScheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	scheme := testenv.Scheme(tb)
	scheme.AddKnownTypes(testGroup, &Widget{}, &WidgetList{}, &OldWidget{}, &OldWidgetList{}, &AncientWidget{}, &AncientWidgetList{},
		&GlobalWidget{}, &GlobalWidgetList{})
	metav1.AddToGroupVersion(scheme, testGroup)
	return scheme
}
