// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

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

// Apply creates objects, or changes them to what is given, like "kubectl apply --server-side". Namespaced objects that
// name no namespace get that of the test. The given objects are changed to what the API server has then.
func (c *Cluster) Apply(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		content := &unstructured.Unstructured{}
		text, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(text, &content.Object)
		}
		if err != nil {
			tb.Fatalf("encoding %s: %v", key, err)
		}
		content.SetGroupVersionKind(key.GroupVersionKind)
		unstructured.RemoveNestedField(content.Object, "status")
		for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp"} {
			unstructured.RemoveNestedField(content.Object, "metadata", field)
		}
		configuration := client.ApplyConfigurationFromUnstructured(content)
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("applying %s: %v", key, err)
		}
		c.mu.Lock()
		c.applied = append(c.applied, content)
		c.mu.Unlock()
		c.Get(tb, object)
	}
}

// Delete requests the deletion of objects. It does not wait; see WaitGone.
func (c *Cluster) Delete(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		if err := c.client.Delete(tb.Context(), object); err != nil {
			tb.Fatalf("deleting %s: %v", key, err)
		}
	}
}

// Get reads an object. The given object needs a name, and a type.
func (c *Cluster) Get(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	if err := c.read(tb, key, object); err != nil {
		tb.Fatalf("getting %s: %v", key, err)
	}
}

// read reads an object. Nothing is left of what it was but its identity.
func (c *Cluster) read(tb testing.TB, key objectKey, object client.Object) error {
	tb.Helper()
	reflect.ValueOf(object).Elem().SetZero()
	object.GetObjectKind().SetGroupVersionKind(key.GroupVersionKind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return c.client.Get(tb.Context(), key.ObjectKey, object)
}

// Tamper changes an object as another client than the operator, for instance a dependent whose drift the operator is
// expected to correct. The function changes the object as it is in the cluster.
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

// installed has the definitions of charts that this process has installed, by name.
var installed = struct {
	sync.Mutex // held while a test installs definitions: others wait until these are served

	names map[string]bool
}{names: map[string]bool{}}

// install creates definitions and waits until their kinds are served. They stay, because other tests may use them.
func (c *Cluster) install(tb testing.TB, folder string, definitions []*unstructured.Unstructured) {
	tb.Helper()
	installed.Lock()
	defer installed.Unlock()
	options := envtest.CRDInstallOptions{MaxTime: testenv.Patience()}
	if folder != "" {
		options.Paths, options.ErrorIfPathMissing = []string{folder}, true
	}
	for _, definition := range definitions {
		typed := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, typed); err != nil {
			tb.Fatalf("reading definition %s: %v", definition.GetName(), err)
		}
		if !installed.names[typed.Name] {
			options.CRDs = append(options.CRDs, typed)
		}
	}
	if found, err := envtest.InstallCRDs(testenv.Config(tb), options); err != nil || folder != "" && len(found) == 0 {
		tb.Fatalf("installing the definitions: %d were found; error: %v", len(found), err)
	}
	for _, definition := range options.CRDs {
		installed.names[definition.Name] = true
	}
}
