// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/testenv"
)

const (
	// user is the field manager of what a test applies.
	user = "operatortest-user"
	// intruder is the field manager of Tamper.
	intruder = "operatortest-intruder"
)

// objectKey identifies an object of a cluster, in a version.
type objectKey struct {
	schema.GroupVersionKind
	client.ObjectKey
}

// String is "Kind namespace/name".
func (k objectKey) String() string {
	return k.Kind + " " + strings.TrimPrefix(k.ObjectKey.String(), "/")
}

// File returns the objects of a YAML file.
func File(tb testing.TB, path string) []*unstructured.Unstructured {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("reading objects: %v", err)
	}
	return testenv.Objects(tb, string(content))
}

// readFolder returns the objects of all YAML files in a folder.
func readFolder(tb testing.TB, folder string) []*unstructured.Unstructured {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		tb.Fatalf("listing %s: %v", folder, err)
	}
	if len(paths) == 0 {
		tb.Fatalf("%s has no files that end with .yaml", folder)
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		objects = append(objects, File(tb, path)...)
	}
	return objects
}

// Apply creates objects, or changes them to what is given, like "kubectl apply --server-side". Namespaced objects that name no namespace get that of the test. The
// given objects are changed to what the API server answers.
func (c *Cluster) Apply(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		content := c.content(tb, object)
		unstructured.RemoveNestedField(content.Object, "status")
		unstructured.RemoveNestedField(content.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(content.Object, "metadata", "resourceVersion")
		unstructured.RemoveNestedField(content.Object, "metadata", "creationTimestamp")
		configuration := client.ApplyConfigurationFromUnstructured(content)
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("applying %s: %v", key, err)
		}
		receive(tb, content, object)
		c.observe(tb, object)
	}
}

// Delete requests the deletion of objects. It does not wait; see WaitGone.
func (c *Cluster) Delete(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		if err := c.client.Delete(tb.Context(), c.content(tb, object)); err != nil {
			tb.Fatalf("deleting %s: %v", key, err)
		}
	}
}

// Get reads an object. The given object needs a name, and a type.
func (c *Cluster) Get(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	if err := c.client.Get(tb.Context(), key.ObjectKey, object); err != nil {
		tb.Fatalf("getting %s: %v", key, err)
	}
}

// Tamper changes an object as another client than the operator, for instance a dependent whose drift the operator is expected to correct. The function changes the
// object as it is in the cluster.
func (c *Cluster) Tamper(tb testing.TB, object client.Object, change func()) {
	tb.Helper()
	c.Get(tb, object)
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		tb.Fatalf("%T cannot be copied", object)
	}
	change()
	if err := c.client.Patch(tb.Context(), object, client.MergeFrom(before), client.FieldOwner(intruder)); err != nil {
		tb.Fatalf("changing %s: %v", c.locate(tb, object), err)
	}
}

// locate returns the identity of an object. It sets the namespace if that is missing.
func (c *Cluster) locate(tb testing.TB, object client.Object) objectKey {
	tb.Helper()
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		tb.Fatalf("%T: the scheme does not know the type: %v", object, err)
	}
	if object.GetNamespace() == "" {
		namespaced, err := c.client.IsObjectNamespaced(object)
		if err != nil {
			tb.Fatalf("%s %s: finding out whether the kind is namespaced: %v", gvk.Kind, object.GetName(), err)
		}
		if namespaced {
			object.SetNamespace(c.namespace)
		}
	}
	return objectKey{gvk, client.ObjectKeyFromObject(object)}
}

// content returns a copy of the object without a Go type.
func (c *Cluster) content(tb testing.TB, object client.Object) *unstructured.Unstructured {
	tb.Helper()
	if typeless, ok := object.(*unstructured.Unstructured); ok {
		return typeless.DeepCopy()
	}
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		tb.Fatalf("%T: the scheme does not know the type: %v", object, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		tb.Fatalf("converting %s %s: %v", gvk.Kind, object.GetName(), err)
	}
	typeless := &unstructured.Unstructured{Object: content}
	typeless.SetGroupVersionKind(gvk)
	return typeless
}

// receive sets the object to a content, by way of JSON: the converter of Kubernetes panics on types with unexported fields, such as references in specs.
func receive(tb testing.TB, content *unstructured.Unstructured, object client.Object) {
	tb.Helper()
	if typeless, ok := object.(*unstructured.Unstructured); ok {
		typeless.Object = content.DeepCopy().Object
		return
	}
	received := reflect.New(reflect.TypeOf(object).Elem()) // nothing is left of what the object was
	text, err := content.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, received.Interface())
	}
	if err != nil {
		tb.Fatalf("converting %s %s: %v", content.GetKind(), content.GetName(), err)
	}
	reflect.ValueOf(object).Elem().Set(received.Elem())
}

// install creates definitions and waits until their kinds are served. They stay, because other tests may use them.
func (c *Cluster) install(tb testing.TB, definitions []*unstructured.Unstructured) {
	tb.Helper()
	for _, definition := range definitions {
		name := definition.GetName()
		configuration := client.ApplyConfigurationFromUnstructured(definition.DeepCopy())
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("installing definition %s: %v", name, err)
		}
		claimant{c.client, c.namespace}.dropDead(tb, name)
		c.awaitServed(tb, definition)
	}
}

// awaitServed waits until each version of a definition can be listed.
func (c *Cluster) awaitServed(tb testing.TB, definition *unstructured.Unstructured) {
	tb.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		content, ok := version.(map[string]any)
		if !ok {
			tb.Fatalf("definition %s: a version is not an object: %v", definition.GetName(), version)
		}
		name, _, _ := unstructured.NestedString(content, "name")
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: name, Kind: kind + "List"})
		testenv.Eventually(tb, func() (bool, string) {
			err := c.client.List(tb.Context(), list, client.InNamespace(c.namespace))
			return err == nil, "the API server does not serve " + definition.GetName()
		})
	}
}
