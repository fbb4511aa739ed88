// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// A feature changes the image and adds a variable and a volume, and leaves everything else.
func ExampleContainerEditor() {
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "web", Image: "example.io/web:1.3", Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "PORT", Value: "80"}},
	}}

	pod := editors.NewPodSpecEditor(&deployment.Spec.Template.Spec)
	pod.EnsureVolume(corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	container := editors.NewContainerEditor(&deployment.Spec.Template.Spec.Containers[0])
	container.SetImage("example.io/web:1.4")
	container.EnsureEnvVar(corev1.EnvVar{Name: "LOG_LEVEL", Value: "debug"})
	container.EnsureVolumeMount(corev1.VolumeMount{Name: "cache", MountPath: "/var/cache"})

	text, err := yaml.Marshal(deployment.Spec.Template.Spec)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(text))
	// Output:
	// containers:
	// - env:
	//   - name: LOG_LEVEL
	//     value: debug
	//   - name: PORT
	//     value: "80"
	//   image: example.io/web:1.4
	//   name: web
	//   resources: {}
	//   volumeMounts:
	//   - mountPath: /var/cache
	//     name: cache
	// volumes:
	// - emptyDir: {}
	//   name: cache
}

// A feature changes a part of a configuration file.
func ExampleConfigMapDataEditor_MergeYAML() {
	configMap := &corev1.ConfigMap{Data: map[string]string{"config.yaml": "server:\n  port: 0080 # as it is\n  hosts: [a, b]\n"}}
	entries := editors.NewConfigMapDataEditor(configMap)
	if err := entries.MergeYAML("config.yaml", "server: {hosts: [c], tls: true}"); err != nil {
		fmt.Println(err)
	}
	fmt.Print(configMap.Data["config.yaml"])
	fmt.Println(entries.MergeYAML("config.yaml", "server: ["))
	// Output:
	// server:
	//   port: 0080 # as it is
	//   hosts: [c]
	//   tls: true
	// merging YAML into the entry "config.yaml": the patch is not a single valid YAML document: yaml: line 1: did not find expected node content
}

// An object whose Go type is not known is edited by the paths of its fields.
func ExampleUnstructuredContentEditor() {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Certificate"}}
	e := editors.NewUnstructuredContentEditor(object.Object)
	for _, err := range []error{
		e.SetNestedField([]string{"example.io"}, "spec", "dnsNames"),
		e.SetNestedString("x", "kind", "name"),
	} {
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(object.Object)
	// Output:
	// setting field kind.name: the value of kind has type string; must be a map
	// map[kind:Certificate spec:map[dnsNames:[example.io]]]
}
