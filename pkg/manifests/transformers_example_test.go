// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// foreign stands for a generator that knows nothing of this runtime, such as one for a user's Helm chart.
func foreign(_ context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"host": "${host:-localhost}"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.io/web:1"}}}},
		}},
	}, nil
}

// show prints one field of each object.
func show(transformer manifests.ObjectTransformer, field func(object client.Object) any) {
	labelled := manifests.NewGenerator(manifests.GeneratorFunc(foreign)).WithObjectTransformer(transformer)
	ctx := generator.NewContext(context.Background(), generator.Surroundings{ReconcilerName: "shop.example.io"})
	objects, err := labelled.Generate(ctx, "default", "shop", types.UnstructurableMap{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), field(object))
	}
}

// Rules give waves and policies to objects of a foreign chart.
func ExampleNewPolicyRulesObjectTransformer() {
	rules, err := manifests.ParsePolicyRules([]byte(`
- match: {kind: ConfigMap}
  set: {apply-order: -10, delete-policy: orphan}
- match: {kind: Deployment, name: "web*"}
  set: {apply-order: 5}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	transformer, err := manifests.NewPolicyRulesObjectTransformer(rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(transformer, func(object client.Object) any { return object.GetAnnotations() })
	// Output:
	// settings map[shop.example.io/apply-order:-10 shop.example.io/delete-policy:orphan]
	// web map[shop.example.io/apply-order:5]
}

// Manifests for Argo CD keep their order.
func ExampleNewHookTransformer() {
	migrate := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "migrate", Annotations: map[string]string{"argocd.argoproj.io/hook": "PreSync"}}}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"argocd.argoproj.io/sync-wave": "5"}}}
	transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := generator.NewContext(context.Background(), generator.Surroundings{ReconcilerName: "shop.example.io", ComponentRevision: 1})
	objects, err := transformer.TransformObjectsContext(ctx, "default", "shop", []client.Object{migrate, web})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.GetAnnotations()["shop.example.io/apply-order"])
	}
	// Output:
	// migrate -20000
	// web 5
}

// What changes has no Go type any more; what does not change is left as it is.
func ExampleNewSubstitutionObjectTransformer() {
	transformer, err := manifests.NewSubstitutionObjectTransformer(map[string]string{"host": "shop.example.com"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(transformer, func(object client.Object) any {
		raw, err := yaml.Marshal(object)
		if err != nil || object.GetName() != "settings" {
			return fmt.Sprintf("%T", object)
		}
		return fmt.Sprintf("%T\n%s", object, raw)
	})
	// Output:
	// settings *unstructured.Unstructured
	// apiVersion: v1
	// data:
	//   host: shop.example.com
	// kind: ConfigMap
	// metadata:
	//   name: settings
	//
	// web *v1.Deployment
}

func ExampleNewKustomizeObjectTransformer() {
	transformer, err := manifests.NewKustomizeObjectTransformer(
		[]manifests.KustomizePatch{{
			Target: &manifests.KustomizeSelector{Kind: "Deployment"},
			Patch:  "- {op: add, path: /spec/replicas, value: 2}",
		}},
		[]manifests.KustomizeImage{{Name: "example.io/web", NewName: "mirror.example.io/web"}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(transformer, func(object client.Object) any {
		deployment, ok := object.(interface{ UnstructuredContent() map[string]any })
		if !ok {
			return "unchanged"
		}
		spec, _ := deployment.UnstructuredContent()["spec"].(map[string]any)
		pods, _ := spec["template"].(map[string]any)["spec"].(map[string]any)
		return fmt.Sprint(spec["replicas"], " ", pods["containers"].([]any)[0].(map[string]any)["image"])
	})
	// Output:
	// settings unchanged
	// web 2 mirror.example.io/web:1
}
