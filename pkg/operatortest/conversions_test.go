// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"github.com/component-operator/runtime/pkg/operatortest"
)

// clock is version v2 of a kind, which is stored.
type clock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Seconds           int `json:"seconds"`
}

func (c *clock) DeepCopyObject() runtime.Object {
	copied := *c
	copied.ObjectMeta = *c.ObjectMeta.DeepCopy()
	return &copied
}

func (*clock) Hub() {}

// oldClock is version v1, which has other fields.
type oldClock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Minutes           int `json:"minutes"`
}

func (c *oldClock) DeepCopyObject() runtime.Object {
	copied := *c
	copied.ObjectMeta = *c.ObjectMeta.DeepCopy()
	return &copied
}

func (c *oldClock) ConvertTo(target conversion.Hub) error {
	stored, ok := target.(*clock)
	if !ok {
		return fmt.Errorf("unexpected type %T", target)
	}
	stored.ObjectMeta, stored.Seconds = c.ObjectMeta, c.Minutes*60
	return nil
}

func (c *oldClock) ConvertFrom(source conversion.Hub) error {
	stored, ok := source.(*clock)
	if !ok {
		return fmt.Errorf("unexpected type %T", source)
	}
	c.ObjectMeta, c.Minutes = stored.ObjectMeta, stored.Seconds/60
	return nil
}

func startConverting(tb testing.TB, values map[string]any) *operatortest.Cluster {
	tb.Helper()
	return operatortest.Start(tb, operatortest.Options{
		Chart: "testdata/converting", Values: values,
		Setup: func(mgr ctrl.Manager) error {
			for version, object := range map[string]runtime.Object{"v1": &oldClock{}, "v2": &clock{}} {
				gv := schema.GroupVersion{Group: "converting.example.org", Version: version}
				mgr.GetScheme().AddKnownTypeWithName(gv.WithKind("Clock"), object)
				metav1.AddToGroupVersion(mgr.GetScheme(), gv)
			}
			return ctrl.NewWebhookManagedBy(mgr, &clock{}).Complete()
		},
	})
}

// TestConversions checks that the operator under test converts, for tests that run side by side and one after another,
// and that nothing leads to it afterwards.
func TestConversions(t *testing.T) {
	for range 2 {
		t.Run("side by side", func(t *testing.T) {
			for range 3 {
				t.Run("clock", func(t *testing.T) {
					t.Parallel()
					cluster := startConverting(t, nil)
					old := &oldClock{ObjectMeta: metav1.ObjectMeta{Name: "kitchen"}, Minutes: 3}
					cluster.Apply(t, old)
					stored := &clock{ObjectMeta: metav1.ObjectMeta{Name: "kitchen"}}
					cluster.Get(t, stored)
					if stored.Seconds != 180 {
						t.Errorf("got %d seconds, want 180", stored.Seconds)
					}
					stored.Seconds = 240
					cluster.Apply(t, stored)
					cluster.Get(t, old)
					if old.Minutes != 4 {
						t.Errorf("got %d minutes, want 4", old.Minutes)
					}
				})
			}
		})
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "clocks.converting.example.org"}}
		operatortest.Start(t, operatortest.Options{}).Get(t, definition)
		if definition.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter || len(definition.Annotations) > 0 {
			t.Errorf("the conversion is not restored: %v, %v", definition.Spec.Conversion, definition.Annotations)
		}
	}
}
