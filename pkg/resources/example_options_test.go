// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	k8sresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sunstructured "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/pvc"
	"github.com/component-operator/runtime/pkg/resources/secret"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	"github.com/component-operator/runtime/pkg/resources/unstructured"
	"github.com/component-operator/runtime/pkg/types"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name}
}

// Options of resources.
func Example_options() {
	dashboardWanted := feature.NewBooleanGate(true)
	dashboard, err := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: named("dashboard")}).GatedBy(dashboardWanted).Auxiliary().Build()
	if err != nil {
		fmt.Println(err)
	}
	data, err := pvc.NewBuilder(&corev1.PersistentVolumeClaim{ObjectMeta: named("data")}).Unowned().
		WithPolicies(generic.Policies{Adoption: inventory.AdoptionPolicyAlways, Prune: inventory.PrunePolicyConfirm}).Build()
	if err != nil {
		fmt.Println(err)
	}
	for _, object := range generated(func(context.Context, resources.Input) ([]resources.Resource, error) {
		return []resources.Resource{data, dashboard}, nil
	}, types.UnstructurableMap{}) {
		fmt.Println(object.GetName(), object.GetAnnotations())
	}
	// Output:
	// data map[shop.example.org/adoption-policy:always shop.example.org/delete-policy:orphan-on-delete shop.example.org/prune-policy:confirm]
	// dashboard map[shop.example.org/await:never]
}

// An object that somebody else owns.
func Example_readOnly() {
	host := concepts.NewData[string]("database host")
	credentials, err := secret.NewBuilder(&corev1.Secret{ObjectMeta: named("database")}).
		ReadOnly(concepts.AbsenceBlocks).
		WithData(concepts.Into(host, func(s corev1.Secret) (string, bool, error) {
			value, found := s.Data["host"]
			return string(value), found, nil
		})).Build()
	if err != nil {
		fmt.Println(err)
	}
	web, err := deployment.NewBuilder(webServers()).WithDataGuard(host).Build()
	if err != nil {
		fmt.Println(err)
	}
	for _, object := range generated(func(context.Context, resources.Input) ([]resources.Resource, error) {
		return []resources.Resource{credentials, web}, nil
	}, types.UnstructurableMap{}) {
		reading, _ := behaviors.Of[behaviors.Reading](object)
		read := reading.Reads()[0]
		fmt.Println(object.GetName(), "reads", read.Kind, read.NamespacedName, read.Take(nil))
	}
	// Output: web reads Secret shop/database it does not exist
}

// An object whose Go type is not known.
func Example_unstructured() {
	certificate := &k8sunstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
		"metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec":     map[string]any{"secretName": "web-tls"},
	}}
	hosts := unstructured.Mutation{Name: "hosts", Mutate: func(m *unstructured.Mutator) error {
		m.EditContent(func(e *editors.UnstructuredContentEditor) error {
			return e.SetNestedSlice([]any{"shop.example.org"}, "spec", "dnsNames")
		})
		return nil
	}}
	resource, err := unstructured.NewBuilder(certificate).WithMutation(hosts).Build()
	if err != nil {
		fmt.Println(err)
	}
	object, err := resource.PreviewObject()
	fmt.Println(resource.Identity(), object.Object["spec"], err)
	// Output: cert-manager.io/v1/Certificate/shop/web map[dnsNames:[shop.example.org] secretName:web-tls] <nil>
}

type (
	quotaBuilder = generic.Builder[corev1.ResourceQuota, *corev1.ResourceQuota, *quotaMutator, quotaMutation, concepts.OperationalStatusWithReason]
	// quotaMutation is a change of a ResourceQuota that belongs to a feature.
	quotaMutation feature.Mutation[*quotaMutator]
)

// quotaMutator records edits of a ResourceQuota: first of its metadata, then of its spec.
type quotaMutator struct {
	generic.Plan
	generic.Metadata

	spec *generic.Category[*corev1.ResourceQuotaSpec]
}

func newQuotaMutator(object *corev1.ResourceQuota) *quotaMutator {
	m := &quotaMutator{}
	m.Metadata = generic.NewMetadata(&m.Plan, &object.ObjectMeta)
	m.spec = generic.NewCategory(&m.Plan, "quota spec", &object.Spec)
	return m
}

// EditQuotaSpec records an edit of the spec.
func (m *quotaMutator) EditQuotaSpec(edit func(*corev1.ResourceQuotaSpec) error) { m.spec.Record(edit) }

func newQuotaBuilder(object *corev1.ResourceQuota) *quotaBuilder {
	return generic.NewBuilder[quotaMutation](generic.Kind[*corev1.ResourceQuota, *quotaMutator, concepts.OperationalStatusWithReason]{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
		NewMutator:       newQuotaMutator,
		Defaults: generic.Handlers[*corev1.ResourceQuota, *quotaMutator, concepts.OperationalStatusWithReason]{
			ConvergingStatus: quotaStatus,
		},
	}, object)
}

// quotaStatus returns Operational when the controller has taken over the limits.
func quotaStatus(_ concepts.ConvergingOperation, object *corev1.ResourceQuota) (concepts.OperationalStatusWithReason, error) {
	if equality.Semantic.DeepEqual(object.Spec.Hard, object.Status.Hard) {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "The limits are in force"}, nil
	}
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting until the limits are in force"}, nil
}

// A kind of one's own.
func Example_kind() {
	quota, err := newQuotaBuilder(&corev1.ResourceQuota{ObjectMeta: named("small")}).
		WithMutation(quotaMutation{Name: "pods", Mutate: func(m *quotaMutator) error {
			m.EditQuotaSpec(func(spec *corev1.ResourceQuotaSpec) error {
				spec.Hard = corev1.ResourceList{corev1.ResourcePods: k8sresource.MustParse("10")}
				return nil
			})
			return nil
		}}).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	object := &corev1.ResourceQuota{}
	if err := quota.Mutate(object); err != nil {
		fmt.Println(err)
	}
	fmt.Println(quota.Identity(), object.Spec.Hard.Pods())
	fmt.Println(quota.ConvergingStatus(concepts.ConvergingOperationCreated))
	fmt.Println(quota.GraceStatus())
	// Output:
	// v1/ResourceQuota/shop/small 10
	// {OperationPending Waiting until the limits are in force} <nil>
	// {Degraded Waiting until the limits are in force} <nil>
}

// banner is a ConfigMap with a text.
type banner struct{ namespace, text string }

func (b banner) Identity() string { return "v1/ConfigMap/" + b.namespace + "/banner" }

func (b banner) Object() (client.Object, error) {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "banner"},
	}, nil
}

func (b banner) Mutate(current client.Object) error {
	object, ok := current.(*corev1.ConfigMap)
	if !ok {
		return fmt.Errorf("mutating %s: object has type %T", b.Identity(), current)
	}
	object.Data = map[string]string{"text": b.text}
	return nil
}

// A resource without a builder.
func Example_handWritten() {
	for _, object := range generated(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
		return []resources.Resource{banner{namespace: input.Namespace, text: "open"}}, nil
	}, types.UnstructurableMap{}) {
		settings, _ := behaviors.Bare(object).(*corev1.ConfigMap)
		fmt.Println(settings.Name, settings.Data)
	}
	// Output: banner map[text:open]
}

// A test that looks at an object, without a cluster.
func Example_preview() {
	address := concepts.NewData[string]("address")
	address.Set("shop.example.org") // in a test, it is not extracted
	web, err := deployment.NewBuilder(webServers()).WithDataGuard(address).
		WithMutation(deployment.Mutation{Name: "address", Mutate: func(m *deployment.Mutator) error {
			host, err := address.Require()
			m.EnsureContainerArg("--address=" + host)
			return err
		}}).Build()
	if err != nil {
		fmt.Println(err)
	}
	object, err := web.PreviewObject()
	fmt.Println(object.Spec.Template.Spec.Containers[0].Args, err)
	// Output: [--address=shop.example.org] <nil>
}

// Two features that want different things.
func Example_conflict() {
	large := deployment.Mutation{Name: "large", Mutate: func(m *deployment.Mutator) error { m.EnsureReplicas(5); return nil }}
	single := deployment.Mutation{Name: "single", Mutate: func(m *deployment.Mutator) error { m.EnsureReplicas(1); return nil }}
	web, err := deployment.NewBuilder(webServers()).WithMutation(large, single).Build()
	if err != nil {
		fmt.Println(err)
	}
	_, err = web.PreviewObject()
	fmt.Println(err)
	// Output: mutating Deployment shop/web: mutations "large" and "single" both write .spec.replicas: 5, then 1
}

// A selector that matches nothing.
func Example_strict() {
	typo := deployment.Mutation{Name: "typo", Mutate: func(m *deployment.Mutator) error {
		m.EditContainers(selectors.ContainerNamed("wbe"), setImage("example.io/shop:2.0.0"))
		return nil
	}}
	web, err := deployment.NewBuilder(webServers()).WithMutation(typo).WithStrictSelectors().Build()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(web.Mutate(&appsv1.Deployment{}))
	// Output:
	// mutating Deployment shop/web: mutation "typo": containers: the selector of edit 1 matches none of ["web"]
}
