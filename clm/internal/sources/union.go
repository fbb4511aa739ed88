// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// union generates the objects of all its members.
type union struct {
	members []member
	// hooks reads the annotations of Argo CD; nil if they are not read.
	hooks *manifests.HookTransformer
}

// identity identifies an object, whatever its content.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// Generate fails if two members define the same object. Duplicates within a member are left to the engine, since an object and its deletion hook may
// share a name.
func (u *union) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	wanted, _ := ctx.Value(originsKey{}).(*[]string)
	var all []client.Object
	var origins []string
	definedBy := map[identity]int{}
	for i, m := range u.members {
		objects, files, err := m.generate(ctx, namespace, name, parameters)
		if err != nil {
			return nil, fmt.Errorf("generating from %s: %w", displayed(m.Reference), err)
		}
		for _, object := range objects {
			key := identityOf(object, namespace)
			if key.name == "" {
				// Its name is going to be generated, or somebody else complains.
				continue
			}
			if other, known := definedBy[key]; known && other != i {
				return nil, fmt.Errorf("%s is defined by both %s and %s",
					dependents.Text(object), displayed(u.members[other].Reference), displayed(m.Reference))
			}
			definedBy[key] = i
		}
		all, origins = append(all, objects...), append(origins, files...)
	}
	var err error
	if u.hooks != nil {
		all, origins, err = u.transform(ctx, namespace, name, all, origins)
	}
	if wanted != nil {
		*wanted = origins
	}
	return all, err
}

// originated is an object with its origin, which goes with it through transformers that leave objects out, or make several of one.
type originated struct {
	*unstructured.Unstructured

	origin string
}

// DeepCopyObject also copies the origin.
func (o *originated) DeepCopyObject() runtime.Object {
	return &originated{Unstructured: o.DeepCopy(), origin: o.origin}
}

// transform reads the annotations of other tools, and returns the objects with their origins.
func (u *union) transform(ctx context.Context, namespace, name string, objects []client.Object, origins []string) ([]client.Object, []string, error) {
	given := make([]client.Object, len(objects))
	for i, object := range objects {
		given[i] = object
		if plain, ok := object.(*unstructured.Unstructured); ok {
			given[i] = &originated{Unstructured: plain, origin: origins[i]}
		}
	}
	transformed, err := u.hooks.TransformObjectsContext(ctx, namespace, name, given)
	if err != nil {
		return nil, nil, fmt.Errorf("reading hooks: %w", err)
	}
	origins = make([]string, len(transformed))
	for i, object := range transformed {
		if marked, ok := object.(*originated); ok {
			transformed[i], origins[i] = marked.Unstructured, marked.origin
		}
	}
	return transformed, origins, nil
}

// originsKey is the context key of the list that collects the origins of objects, if they are requested. Transformers after the union neither add nor reorder
// objects, so the list matches their result.
type originsKey struct{}

// generate also returns the origins of the objects.
func (m member) generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, []string, error) {
	files := map[client.Object]string{}
	ctx = helm.WithOrigins(ctx, func(object client.Object, file string) { files[object] = file })
	objects, err := m.generator.Generate(ctx, namespace, name, parameters)
	if err == nil && m.hooks != nil {
		objects, err = m.hooks.TransformObjectsContext(ctx, namespace, name, objects)
	}
	origins := make([]string, len(objects))
	for i, object := range objects {
		origins[i] = cmp.Or(files[object], displayed(m.Reference))
	}
	return objects, origins, err
}

// Fingerprint covers all members, in their order.
func (u *union) Fingerprint() string {
	hash := sha256.New()
	for _, m := range u.members {
		fingerprint := m.generator.Fingerprint()
		if fingerprint == "" {
			return ""
		}
		fmt.Fprintf(hash, "%s %q\n", m.Kind, fingerprint)
		if m.hooks != nil {
			fmt.Fprintf(hash, "%s\n", m.hooks.Fingerprint())
		}
	}
	if u.hooks != nil {
		fmt.Fprintf(hash, "%s\n", u.hooks.Fingerprint())
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// identityOf resolves the namespace of an object that has none, if its type is namespaced.
func identityOf(object client.Object, namespace string) identity {
	key := identity{kind: object.GetObjectKind().GroupVersionKind().GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}
	if key.namespace == "" {
		key.namespace = namespace
	}
	return key
}

// wholeNumbers converts whole numbers in values files to integers for templates of kustomizations, as in their own defaults. Helm's templates get
// floats, as in Helm.
type wholeNumbers struct {
	pureGenerator
}

func (w wholeNumbers) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if parameters != nil {
		converted, _ := withWholeNumbers(parameters.ToUnstructured()).(map[string]any)
		parameters = types.UnstructurableMap(converted)
	}
	objects, err := w.pureGenerator.Generate(ctx, namespace, name, parameters)
	return objects, ifRestricted(err)
}

// maxExactFloat is the largest number up to which a float64 represents every integer.
const maxExactFloat = 1 << 53

// withWholeNumbers may modify the value.
func withWholeNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = withWholeNumbers(item)
		}
	case []any:
		for i, item := range value {
			value[i] = withWholeNumbers(item)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) <= maxExactFloat {
			return int64(value)
		}
	}
	return value
}
