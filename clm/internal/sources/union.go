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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// union generates the objects of all its members.
type union struct {
	members []member
	// charts and others read the annotations of other tools in charts, and in other sources; nil if they are not read.
	charts, others *manifests.HookTransformer
}

// identity identifies an object, whatever its content.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// Generate fails if two members define the same object. Duplicates within a member are left to the engine, since an
// object and its deletion hook may share a name.
func (u *union) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	var ofCharts, ofOthers []client.Object
	definedBy := map[identity]int{}
	for i, m := range u.members {
		objects, err := m.generate(ctx, i, namespace, name, parameters)
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
					display.Text(object), displayed(u.members[other].Reference), displayed(m.Reference))
			}
			definedBy[key] = i
		}
		if m.Kind == Chart {
			ofCharts = append(ofCharts, objects...)
		} else {
			ofOthers = append(ofOthers, objects...)
		}
	}
	ofCharts, err := withHooks(ctx, u.charts, namespace, name, ofCharts)
	if err != nil {
		return nil, err
	}
	if ofOthers, err = withHooks(ctx, u.others, namespace, name, ofOthers); err != nil {
		return nil, err
	}
	return collect(ctx, slices.Concat(ofCharts, ofOthers))
}

// withHooks reads the annotations of other tools.
func withHooks(ctx context.Context, hooks *manifests.HookTransformer, namespace, name string, objects []client.Object) ([]client.Object, error) {
	if hooks == nil {
		return objects, nil
	}
	transformed, err := hooks.TransformObjectsContext(ctx, namespace, name, objects)
	if err != nil {
		return nil, fmt.Errorf("reading hooks: %w", err)
	}
	return transformed, nil
}

// originated is an object with its origin, which goes with it through transformers that leave objects out, or make
// several of one.
type originated struct {
	*unstructured.Unstructured

	member int
	origin string
}

// DeepCopyObject also copies the origin.
func (o *originated) DeepCopyObject() runtime.Object {
	return &originated{Unstructured: o.DeepCopy(), member: o.member, origin: o.origin}
}

// originsKey is the context key of the list that collects the origins of objects, if they are requested. Transformers
// after the union neither add nor reorder objects, so the list matches their result.
type originsKey struct{}

// generate returns objects with their origins.
func (m member) generate(ctx context.Context, i int, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	files := map[client.Object]string{}
	ctx = helm.WithOrigins(ctx, func(object client.Object, file string) { files[object] = file })
	objects, err := m.generator.Generate(ctx, namespace, name, parameters)
	if err != nil {
		return nil, err
	}
	result := make([]client.Object, len(objects))
	for j, object := range objects {
		plain, ok := object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("unexpected object of type %T", object)
		}
		result[j] = &originated{Unstructured: plain, member: i, origin: cmp.Or(files[object], displayed(m.Reference))}
	}
	return result, nil
}

// collect returns the objects in the order of their sources, without their origins. These go to the list of the
// context.
func collect(ctx context.Context, objects []client.Object) ([]client.Object, error) {
	all := make([]*originated, len(objects))
	for i, object := range objects {
		var ok bool
		if all[i], ok = object.(*originated); !ok {
			return nil, fmt.Errorf("unexpected object of type %T", object)
		}
	}
	slices.SortStableFunc(all, func(a, b *originated) int { return cmp.Compare(a.member, b.member) })
	result := make([]client.Object, len(all))
	origins := make([]string, len(all))
	for i, each := range all {
		result[i], origins[i] = each.Unstructured, each.origin
	}
	if wanted, ok := ctx.Value(originsKey{}).(*[]string); ok {
		*wanted = origins
	}
	return result, nil
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
	}
	if u.others != nil {
		fmt.Fprintf(hash, "%s\n", u.others.Fingerprint())
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

// wholeNumbers converts whole numbers in values files to integers for templates of kustomizations, as in their own
// defaults. Helm's templates get floats, as in Helm.
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
