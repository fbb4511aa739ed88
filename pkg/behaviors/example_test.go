// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package behaviors_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
