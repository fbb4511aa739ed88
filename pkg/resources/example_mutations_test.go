// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/daemonset"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/selectors"
	"github.com/component-operator/runtime/pkg/types"
)

// ShopSpec is the spec of a Shop.
type ShopSpec struct {
	Version  string `json:"version"`
	Replicas int32  `json:"replicas,omitempty"`
}

// shop returns the resources of a Shop.
func shop(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	spec, err := resources.SpecOf[*ShopSpec](input)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"app": input.Name}
	base := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: input.Name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
			},
		},
	}
	version := deployment.Mutation{Name: "version", Mutate: func(m *deployment.Mutator) error {
		m.EnsureReplicas(spec.Replicas)
		m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error {
			e.SetImage("example.io/shop:" + spec.Version)
			return nil
		})
		return nil
	}}
	web, err := deployment.NewBuilder(base).WithMutation(version).Build()
	if err != nil {
		return nil, err
	}
	return []resources.Resource{web}, nil
}

// setup adds the reconciler of Shops to the manager.
func setup(mgr ctrl.Manager) error {
	generator := resources.NewGenerator(shop, resources.WithCondition("Available"))
	return component.NewReconciler[*Shop]("shop.example.org", generator, component.ReconcilerOptions{}).SetupWithManager(mgr)
}

// Shop is a component.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec         `json:"spec,omitempty"`
	Status component.Status `json:"status,omitempty"`
}

// DeepCopyObject returns a copy.
func (s *Shop) DeepCopyObject() runtime.Object {
	copied := &Shop{TypeMeta: s.TypeMeta, ObjectMeta: *s.ObjectMeta.DeepCopy(), Spec: s.Spec}
	s.Status.DeepCopyInto(&copied.Status)
	return copied
}

// GetSpec returns the parameters for the generator.
func (s *Shop) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns the part that the reconciler writes.
func (s *Shop) GetStatus() *component.Status { return &s.Status }

// ToUnstructured returns the spec as maps and scalars.
func (s *ShopSpec) ToUnstructured() map[string]any {
	return map[string]any{"version": s.Version, "replicas": int64(s.Replicas)}
}

var _ = setup

// generated returns the objects of resources, as the reconciler gets them.
func generated(generate resources.Generate, parameters types.Unstructurable) []client.Object {
	ctx := generator.NewContext(context.Background(), generator.Surroundings{ReconcilerName: "shop.example.org"})
	objects, err := resources.NewGenerator(generate).Generate(ctx, "shop", "web", parameters)
	if err != nil {
		fmt.Println(err)
	}
	return objects
}

// A generator of one Deployment.
func ExampleNewGenerator() {
	for _, object := range generated(shop, &ShopSpec{Version: "1.4.2", Replicas: 2}) {
		fmt.Println(object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
	}
	// Output: Deployment shop web
}

// webServers is a Deployment with a container web.
func webServers() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "example.io/shop:1.4.2"}}
	return d
}

// show prints the containers of a Deployment with some mutations.
func show(mutations ...deployment.Mutation) {
	web, err := deployment.NewBuilder(webServers()).WithMutation(mutations...).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := web.PreviewObject()
	if err != nil {
		fmt.Println(err)
		return
	}
	var all []string
	for _, container := range d.Spec.Template.Spec.Containers {
		text := container.Name + " " + container.Image
		for _, variable := range container.Env {
			text += " " + variable.Name + "=" + variable.Value
		}
		all = append(all, text)
	}
	fmt.Println(strings.Join(all, ", "))
}

// An error names all that is wrong.
func Example_build() {
	_, err := configmap.NewBuilder(&corev1.ConfigMap{}).AwaitAddress().Build()
	fmt.Println(err)
	// Output:
	// building ConfigMap: metadata.name must not be empty
	// metadata.namespace must not be empty
	// AwaitAddress: allowed for Ingresses only; Services of type LoadBalancer always wait for their addresses
}

// Within a mutation, categories come before the order of calls.
func Example_categories() {
	proxy := deployment.Mutation{Name: "proxy", Mutate: func(m *deployment.Mutator) error {
		m.EnsureContainerEnvVar(corev1.EnvVar{Name: "ZONE", Value: "a"})                // an edit of containers
		m.EnsureContainer(corev1.Container{Name: "proxy", Image: "example.io/proxy:3"}) // the presence of a container
		return nil
	}}
	show(proxy)
	// Output: web example.io/shop:1.4.2 ZONE=a, proxy example.io/proxy:3 ZONE=a
}

// Selectors see the containers as they were when the category began.
func Example_snapshot() {
	rename := deployment.Mutation{Name: "rename", Mutate: func(m *deployment.Mutator) error {
		m.EditContainers(selectors.ContainerNamed("web"), func(e *editors.ContainerEditor) error {
			e.Raw().Name = "frontend"
			return nil
		})
		m.EditContainers(selectors.ContainerNamed("web"), setImage("example.io/shop:2.0.0")) // selects it, although it is renamed now
		return nil
	}}
	later := deployment.Mutation{Name: "later", Mutate: func(m *deployment.Mutator) error {
		m.EditContainers(selectors.ContainerNamed("frontend"), func(e *editors.ContainerEditor) error {
			e.EnsureEnvVar(corev1.EnvVar{Name: "ZONE", Value: "a"})
			return nil
		})
		return nil
	}}
	show(rename, later)
	// Output: frontend example.io/shop:2.0.0 ZONE=a
}

// tracing sends the traces of all containers to an address.
func tracing(pods *generic.PodTemplate, address string) {
	pods.EnsureContainerEnvVar(corev1.EnvVar{Name: "TRACES_TO", Value: address})
	pods.EditPodTemplateMetadata(func(e *editors.ObjectMetaEditor) error {
		e.EnsureAnnotation("example.io/traced", "true")
		return nil
	})
}

var tracedWeb = deployment.Mutation{Name: "tracing", Mutate: func(m *deployment.Mutator) error {
	tracing(&m.PodTemplate, "traces:4317")
	return nil
}}

var tracedAgent = daemonset.Mutation{Name: "tracing", Mutate: func(m *daemonset.Mutator) error {
	tracing(&m.PodTemplate, "traces:4317")
	return nil
}}

// One mutation for several kinds.
func Example_shared() {
	show(tracedWeb)
	agent, err := daemonset.NewBuilder(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent"}}).WithMutation(tracedAgent).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := agent.PreviewObject()
	fmt.Println(d.Spec.Template.Annotations, err)
	// Output:
	// web example.io/shop:1.4.2 TRACES_TO=traces:4317
	// map[example.io/traced:true] <nil>
}

// A feature that depends on the version and on the spec.
func Example_gates() {
	since2, err := feature.Semver(">= 2.0, < 4")
	if err != nil {
		fmt.Println(err)
	}
	cacheWanted := true
	gate := feature.NewVersionGate("1.4.2", []feature.VersionConstraint{since2}).When(cacheWanted)
	cache := deployment.Mutation{Name: "cache", Feature: gate, Mutate: func(m *deployment.Mutator) error {
		m.EnsureContainer(corev1.Container{Name: "cache", Image: "example.io/cache:1"})
		return nil
	}}
	show(cache)
	fmt.Println(gate.Why())
	// Output:
	// web example.io/shop:1.4.2
	// off: version 1.4.2 is not >= 2.0, < 4
}

// lts accepts the versions with long-term support.
type lts []string

func (l lts) Enabled(version string) (bool, error) {
	for _, supported := range l {
		if strings.HasPrefix(version, supported+".") {
			return true, nil
		}
	}
	return false, nil
}

func (l lts) String() string { return "one of the versions with long-term support" }

// A constraint of one's own.
func Example_constraint() {
	fmt.Println(feature.NewVersionGate("2.1.0", []feature.VersionConstraint{lts{"1.4", "2.0"}}).Why())
	fmt.Println(feature.NewVersionGate("latest", []feature.VersionConstraint{mustSemver(">= 2")}).Enabled())
	fmt.Println(feature.NewBooleanGate(true).Why())
	// Output:
	// off: version 2.1.0 is not one of the versions with long-term support
	// false version "latest": invalid semantic version; must be a semantic version, such as 1.4.0
	// on: the condition is true
}

func mustSemver(text string) feature.VersionConstraint {
	constraint, err := feature.Semver(text)
	if err != nil {
		panic(err)
	}
	return constraint
}

// setImage is an edit of a container.
func setImage(image string) func(*editors.ContainerEditor) error {
	return func(e *editors.ContainerEditor) error {
		e.SetImage(image)
		return nil
	}
}

// A mutation with several editors.
func Example_editors() {
	limits := deployment.Mutation{Name: "limits", Mutate: func(m *deployment.Mutator) error {
		m.EditDeploymentSpec(func(e *editors.DeploymentSpecEditor) error {
			e.SetProgressDeadlineSeconds(120)
			e.Raw().Strategy.Type = appsv1.RecreateDeploymentStrategyType
			return nil
		})
		m.EditPodSpec(func(e *editors.PodSpecEditor) error {
			e.EnsureNodeSelector("kubernetes.io/arch", "arm64")
			e.EnsureVolume(corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			return nil
		})
		m.EditContainers(selectors.ContainersNotNamed("proxy"), func(e *editors.ContainerEditor) error {
			e.SetResourceLimit(corev1.ResourceMemory, resource.MustParse("256Mi"))
			e.EnsureVolumeMount(corev1.VolumeMount{Name: "cache", MountPath: "/var/cache"})
			return nil
		})
		return nil
	}}
	show(limits)
	// Output: web example.io/shop:1.4.2
}

// Two features change one configuration file.
func Example_merge() {
	tls := configmap.Mutation{Name: "tls", Mutate: func(m *configmap.Mutator) error { m.MergeYAML("app.yaml", "server: {tls: on}"); return nil }}
	cache := configmap.Mutation{Name: "cache", Mutate: func(m *configmap.Mutator) error { m.MergeYAML("app.yaml", "cache: {size: 1.50}"); return nil }}
	settings, err := configmap.NewBuilder(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"},
		Data:       map[string]string{"app.yaml": "server: # the front\n  port: 0443\n"},
	}).WithMutation(tls, cache).Build()
	if err != nil {
		fmt.Println(err)
	}
	object, err := settings.PreviewObject()
	fmt.Print(object.Data["app.yaml"], err)
	// Output:
	// server: # the front
	//   port: 0443
	//   tls: on
	// cache: {size: 1.50}
	// <nil>
}

// Pods are replaced when their configuration changes.
func Example_hash() {
	settings, err := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}}).Build()
	if err != nil {
		fmt.Println(err)
	}
	restart := deployment.Mutation{Name: "restart", Mutate: func(m *deployment.Mutator) error {
		hash, err := configmap.DesiredHash(settings)
		m.EditPodTemplateMetadata(func(e *editors.ObjectMetaEditor) error {
			e.EnsureAnnotation("shop.example.org/settings", hash)
			return nil
		})
		return err
	}}
	show(restart)
	// Output: web example.io/shop:1.4.2
}
