// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package behaviors_test

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
)

// A cloud controller writes the address of a Service into its status, and a ConfigMap needs it.
func ExampleAttach() {
	generate := func(namespace, name string) []client.Object {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		var address string
		return []client.Object{
			behaviors.Attach(service, behaviors.Extract(func(object *unstructured.Unstructured) error {
				address = ""
				ingress, _, err := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
				if err != nil || len(ingress) == 0 {
					return err
				}
				first, _ := ingress[0].(map[string]any)
				address, _, err = unstructured.NestedString(first, "hostname")
				return err
			})),
			behaviors.Attach(settings,
				behaviors.AtStep(1),
				behaviors.Guard(func() (string, error) {
					if address == "" {
						return "the Service has no address", nil
					}
					return "", nil
				}),
				behaviors.Complete(func(manifest *unstructured.Unstructured) error {
					return unstructured.SetNestedField(manifest.Object, address, "data", "address")
				}),
			),
		}
	}
	for _, object := range generate("default", "web") {
		fmt.Printf("%T: %v\n", behaviors.Bare(object), behaviors.Names(object))
	}
	// Output:
	// *v1.Service: [Extracting]
	// *v1.ConfigMap: [Guarded Late Stepped]
}

// The address of a Service is known when it exists, before it is ready.
func ExampleExtract() {
	generate := func(service, settings client.Object) ([]client.Object, error) {
		var address string
		return []client.Object{
			behaviors.Attach(service, behaviors.Extract(func(object *unstructured.Unstructured) (err error) {
				address, _, err = unstructured.NestedString(object.Object, "spec", "clusterIP")
				return err
			})),
			behaviors.Attach(settings,
				behaviors.AtStep(1),
				behaviors.Complete(func(manifest *unstructured.Unstructured) error {
					return unstructured.SetNestedField(manifest.Object, address, "data", "address")
				}),
			),
		}, nil
	}
	objects, _ := generate(&corev1.Service{}, &corev1.ConfigMap{})
	fmt.Println(behaviors.Names(objects[0]), behaviors.Names(objects[1]))
	// Output: [Extracting] [Late Stepped]
}

// A database operator creates the Secret.
func ExampleReads() {
	namespace, settings := "shop", &corev1.ConfigMap{}
	var database corev1.Secret
	attached := behaviors.Attach(settings,
		behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
			NamespacedName:   types.NamespacedName{Namespace: namespace, Name: "database"},
			Take: func(secret *unstructured.Unstructured) error {
				if secret == nil {
					return errors.New("does not exist")
				}
				return runtime.DefaultUnstructuredConverter.FromUnstructured(secret.Object, &database)
			},
		}},
		behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, string(database.Data["host"]), "data", "host")
		}),
	)

	// The reconciler gives what it has read to the function, and then completes the manifest.
	reads, _ := behaviors.Of[behaviors.Reading](attached)
	late, _ := behaviors.Of[behaviors.Late](attached)
	secret := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"host": "ZGIuZXhhbXBsZS5jb20="}}}
	manifest := &unstructured.Unstructured{Object: map[string]any{}}
	fmt.Println(errors.Join(reads.Reads()[0].Take(secret), late.Complete(manifest)), manifest.Object)
	// Output: <nil> map[data:map[host:db.example.com]]
}

// While the component is suspended, the Deployment has no pods, and the other one does not exist.
func ExampleSuspend() {
	deployment, cache := &appsv1.Deployment{}, &appsv1.Deployment{}
	objects := []client.Object{
		behaviors.Attach(deployment, behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, int64(0), "spec", "replicas")
		})),
		behaviors.Attach(cache, behaviors.DeletedOnSuspend{}),
	}
	fmt.Println(behaviors.Names(objects[0]), behaviors.Names(objects[1]))
	// Output: [Suspending] [Suspending]
}
