// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package bundles

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// A Counter is a pure generator that counts how often it is called.
//
// +kubebuilder:object:generate=false
type Counter struct {
	manifests.Generator
	Calls atomic.Int64
}

var _ manifests.Pure = &Counter{}

// Fingerprint identifies the generator that is counted.
func (c *Counter) Fingerprint() string {
	if pure, ok := c.Generator.(manifests.Pure); ok {
		return pure.Fingerprint()
	}
	return "bundle/1"
}

// Generate calls the generator that is counted.
func (c *Counter) Generate(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	c.Calls.Add(1)
	return c.Generator.Generate(ctx, namespace, name, parameters)
}

// Generator makes the dependents of a bundle.
var Generator = manifests.GeneratorFunc(Generate)

// Generate makes the dependents of a bundle.
func Generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	values := parameters.ToUnstructured()
	number := func(key string) int64 {
		value, _ := values[key].(int64)
		return value
	}
	salt, _ := values["salt"].(string)
	kind, _ := values["kind"].(string)
	count, waves, steps := number("dependents"), max(1, number("waves")), max(1, number("steps"))
	objects := make([]client.Object, 0, count)
	for i := range count {
		content := Payload(int(number("payloadBytes")))
		if i == 0 {
			content += salt
		}
		object := newDependent(DependentKind(kind), name, i, content)
		if object.GetKind() != "CustomResourceDefinition" {
			object.SetNamespace(namespace)
		}
		if waves > 1 {
			object.SetAnnotations(map[string]string{ReconcilerName + "/" + types.AnnotationKeySuffixApplyOrder: strconv.FormatInt(i*waves/count, 10)})
		}
		if steps > 1 {
			objects = append(objects, behaviors.Attach(object, behaviors.AtStep(int(i*steps/count))))
			continue
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// DependentName returns the name of a dependent.
func DependentName(bundle string, index int64) string {
	return fmt.Sprintf("%s-%d", bundle, index)
}

func newDependent(kind DependentKind, bundle string, index int64, content string) *unstructured.Unstructured {
	switch kind {
	case KindDeployment:
		return NewDeployment(DependentName(bundle, index), content)
	case KindDefinition:
		if index == 0 {
			return newDefinition(bundle)
		}
	case KindConfigMap:
	}
	return NewConfigMap(DependentName(bundle, index), content)
}

// Payload returns content of a size in bytes.
func Payload(size int) string {
	return strings.Repeat("0123456789abcdef", size/16+1)[:size]
}

// NewConfigMap returns a ConfigMap with the content.
func NewConfigMap(name, content string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
		"data":       map[string]any{"content": content},
	}}
}

// NewDeployment returns a Deployment with the content in a variable of its container.
func NewDeployment(name, content string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	container := map[string]any{"name": "main", "image": "example.com/none", "env": []any{map[string]any{"name": "CONTENT", "value": content}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": int64(1),
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{container}}},
		},
	}}
}

// DefinedKind is the type that a bundle of kind Definition brings along.
func DefinedKind(bundle string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: bundle + "." + ReconcilerName, Version: "v1", Kind: "Thing"}
}

func newDefinition(bundle string) *unstructured.Unstructured {
	gvk := DefinedKind(bundle)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "things." + gvk.Group},
		"spec": map[string]any{
			"group": gvk.Group,
			"names": map[string]any{"kind": gvk.Kind, "listKind": "ThingList", "plural": "things", "singular": "thing"},
			"scope": "Namespaced",
			"versions": []any{map[string]any{
				"name": gvk.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}
