// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Site is a component. DeepCopyObject is usually generated.
type Site struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	Spec   SiteSpec         `json:"spec"`
	Status component.Status `json:"status"`
}

// SiteSpec can be placed, suspended, and refers to a Secret.
type SiteSpec struct {
	component.PlacementSpec `json:",inline"`
	component.PresenceSpec  `json:",inline"`

	Title    string                       `json:"title"`
	Password component.SecretKeyReference `json:"passwordRef" fallbackKeys:"password"`
}

func (s *Site) GetSpec() types.Unstructurable {
	return types.UnstructurableMap{"title": s.Spec.Title, "password": string(s.Spec.Password.Value())}
}
func (s *Site) GetStatus() *component.Status { return &s.Status }
func (s *Site) DeepCopyObject() runtime.Object {
	copied := *s
	copied.ObjectMeta = *s.ObjectMeta.DeepCopy()
	s.Spec.Password.DeepCopyInto(&copied.Spec.Password)
	s.Status.DeepCopyInto(&copied.Status)
	return &copied
}

func generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"title": fmt.Sprint(parameters.ToUnstructured()["title"])},
	}}, nil
}

func ExampleNewReconciler() {
	setup := func(mgr ctrl.Manager) error {
		reconciler := component.NewReconciler[*Site]("sites.example.com", manifests.GeneratorFunc(generate), component.ReconcilerOptions{}).
			WithPreReconcileHook(func(ctx context.Context, _ client.Client, site *Site) error {
				ctrl.LoggerFrom(ctx).Info("a site is about to be brought up to date", "title", site.Spec.Title)
				return nil
			})
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return err
		}
		return mgr.AddReadyzCheck("sites", reconciler.ReadyCheck)
	}
	_ = setup
}

// ExampleSharding has all replicas of an operator work at the same time, each on its share of the components. The
// manager needs no leader election for that.
func ExampleSharding() {
	setup := func(mgr ctrl.Manager) error {
		reconciler := component.NewReconciler[*Site]("sites.example.com", manifests.GeneratorFunc(generate), component.ReconcilerOptions{
			Sharding: &component.Sharding{Shards: 32},
		})
		return reconciler.SetupWithManager(mgr)
	}
	_ = setup
}

func ExampleNewContext() {
	ctx := component.NewContext(context.Background()).WithComponentName("home").WithComponentRevision(3)
	name, _ := component.ComponentNameFromContext(ctx)
	revision, _ := component.ComponentRevisionFromContext(ctx)
	_, err := component.ClientFromContext(ctx)
	fmt.Println(name, revision)
	fmt.Println(err)
	// Output:
	// home 3
	// client not found in context: the caller of the generator (a reconciler, or a unit test) has to set Surroundings.Client of generator.NewContext; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster
}
