// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/types"
)

// phases is a generator: it returns the objects of all phases of a set, with phases as apply orders.
type phases struct{}

var _ generator.Pure = phases{}

// Fingerprint identifies the version of this generator's code; it must change with the code.
func (phases) Fingerprint() string { return "phases/2" }

// Generate returns the objects of a spec.
func (phases) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	prefix, err := generator.ReconcilerNameFromContext(ctx)
	if err != nil {
		return nil, err
	}
	clnt, err := generator.ClientFromContext(ctx)
	if err != nil {
		return nil, err
	}
	r := reading{prefix: prefix, mapper: clnt.RESTMapper(), scopes: map[schema.GroupVersionKind]scope{}, places: map[types.ObjectID]string{}}
	var declared []v1alpha1.Phase
	var problems []string
	switch spec := parameters.(type) {
	case *v1alpha1.ObjectSetSpec:
		declared, r.namespace, r.confined = spec.Phases, namespace, spec.ServiceAccountName == ""
		r.self = types.ObjectID{GroupKind: v1alpha1.GroupVersion.WithKind("ObjectSet").GroupKind(), Namespace: namespace, Name: name}
	case *v1alpha1.ClusterObjectSetSpec:
		declared = spec.Phases
		r.self = types.ObjectID{GroupKind: v1alpha1.GroupVersion.WithKind("ClusterObjectSet").GroupKind(), Name: name}
	default:
		return nil, fmt.Errorf("unexpected parameters of type %T", parameters)
	}
	for i, phase := range declared {
		for j, object := range phase.Objects {
			where := fmt.Sprintf("phase %q: objects[%d]", phase.Name, j)
			problem, err := r.read(where, i, object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			if problem != "" {
				problems = append(problems, where+": "+problem)
			}
		}
	}
	if len(problems) > 0 {
		return nil, inventory.NewRefusedError(problems...)
	}
	return r.objects, nil
}

// reading reads the objects of a set.
type reading struct {
	prefix string
	mapper meta.RESTMapper
	// namespace is that of an ObjectSet; empty for a ClusterObjectSet. If confined is set, all objects must be in it.
	namespace string
	confined  bool
	self      types.ObjectID

	scopes  map[schema.GroupVersionKind]scope
	objects []client.Object
	places  map[types.ObjectID]string // where each object stands
}

// unknownTypeDelay is the delay before looking up an unknown type again.
const unknownTypeDelay = 5 * time.Second

// forbidden are the fields of the metadata that the set controls. Fields that the API server sets, as in an exported
// object, are omitted when the object is applied.
var forbidden = []string{"generateName", "ownerReferences"}

// decidedBy maps the suffixes of annotations that objects must not have to the reasons.
var decidedBy = map[string]string{
	types.AnnotationKeySuffixApplyOrder:     "the phase decides",
	types.AnnotationKeySuffixDeleteOrder:    "the phase decides",
	types.AnnotationKeySuffixPurgeOrder:     "the phase decides",
	types.AnnotationKeySuffixAdoptionPolicy: "collisionProtection decides",
	types.AnnotationKeySuffixAwait:          "availabilityProbes decide",
	types.AnnotationKeySuffixReadyWhen:      "availabilityProbes decide",
	types.AnnotationKeySuffixFailWhen:       "availabilityProbes decide",
	types.AnnotationKeySuffixStatusHint:     "availabilityProbes decide",
	types.AnnotationKeySuffixDeletionHook:   "a set has no hooks",
	types.AnnotationKeySuffixReleaseHook:    "a set has no hooks",
	types.AnnotationKeySuffixApplyHook:      "a set has no hooks",
	types.AnnotationKeySuffixVersioned:      "a set has no versions",
	types.AnnotationKeySuffixKeptVersions:   "a set has no versions",
}

// read reads one object. It returns a problem if the object is invalid, and an error if something else fails.
func (r *reading) read(where string, order int, declared v1alpha1.Object) (problem string, err error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(declared.Object.Raw, &object.Object); err != nil {
		return err.Error() + "; must be an object with apiVersion, kind and metadata.name", nil
	}
	dropEmpty(object)
	if problem := r.examine(object); problem != "" {
		return problem, nil
	}
	problem, err = r.place(object)
	id := types.IDOf(object)
	switch other, taken := r.places[id]; {
	case err != nil:
		return "", err
	case id == r.self:
		return "it is the set itself", nil
	case problem != "":
		return problem, nil
	case taken:
		return fmt.Sprintf("%s is also in %s; must occur only once", id, other), nil
	}
	r.places[id] = where
	own := map[string]string{r.prefix + "/" + types.AnnotationKeySuffixApplyOrder: strconv.Itoa(order)}
	if declared.CollisionProtection != "" {
		own[r.prefix+"/"+types.AnnotationKeySuffixAdoptionPolicy] = annotations.Kebab(string(declared.CollisionProtection.AdoptionPolicy()))
	}
	object.SetAnnotations(labels.Merge(object.GetAnnotations(), own))
	r.objects = append(r.objects, r.guarded(object))
	return "", nil
}

// guarded returns an object with a guard if its set is confined and its type is not served yet: its phase cannot begin
// before the object is read again with a known type.
func (r *reading) guarded(object *unstructured.Unstructured) client.Object {
	kind := object.GroupVersionKind()
	if !r.confined || r.scopes[kind].known {
		return object
	}
	err := types.NewRetriableError(fmt.Errorf("its type %s %s is not served", kind.GroupVersion(), kind.Kind), new(unknownTypeDelay))
	return behaviors.Attach(object, behaviors.Guard(func() (string, error) { return "", err }))
}

// dropEmpty removes fields of the metadata that are empty. Templates leave them behind.
func dropEmpty(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	maps.DeleteFunc(metadata, func(_ string, value any) bool {
		switch value := value.(type) {
		case nil:
			return true
		case string:
			return value == ""
		case []any:
			return len(value) == 0
		case map[string]any:
			return len(value) == 0
		default:
			return false
		}
	})
}

// examine returns the first problem of the fields of an object; empty if there is none.
func (r *reading) examine(object *unstructured.Unstructured) string {
	version, _ := object.Object["apiVersion"].(string)
	if group, err := schema.ParseGroupVersion(version); err != nil || group.Version == "" {
		return fmt.Sprintf("apiVersion: invalid value %q; must be a group and version, such as apps/v1", version)
	}
	if kind, _ := object.Object["kind"].(string); kind == "" {
		return fmt.Sprintf("kind: invalid value %q; must be a kind, such as ConfigMap", kind)
	}
	if object.GetName() == "" {
		return `metadata.name is required`
	}
	if problem := examineMetadata(object); problem != "" {
		return fmt.Sprintf("%s: %s", types.IDOf(object), problem)
	}
	for _, name := range forbidden {
		if _, exists, err := unstructured.NestedFieldNoCopy(object.Object, "metadata", name); exists || err != nil {
			return fmt.Sprintf("%s: metadata.%s is not allowed", types.IDOf(object), name)
		}
	}
	for key := range object.GetAnnotations() {
		if suffix, own := strings.CutPrefix(key, r.prefix+"/"); own && decidedBy[suffix] != "" {
			return fmt.Sprintf("%s: metadata.annotations: %s is not allowed; %s", types.IDOf(object), key, decidedBy[suffix])
		}
	}
	return ""
}

// examineMetadata returns the first problem of the metadata for which the API server would refuse an object of any
// type; empty if there is none. The server would refuse it only after applying the earlier phases.
func examineMetadata(object *unstructured.Unstructured) string {
	if value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "namespace"); value != nil {
		if _, ok := value.(string); !ok {
			return fmt.Sprintf("metadata.namespace: invalid value %v; must be the name of a namespace", value)
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(object.Object, "metadata", name); err != nil {
			return fmt.Sprintf("metadata.%s: invalid value; must be a map of strings", name)
		}
	}
	metadata := &metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), Labels: object.GetLabels(), Annotations: object.GetAnnotations()}
	isNamespaced := metadata.Namespace != ""
	problems := validation.ValidateObjectMeta(metadata, isNamespaced, isPathSegment, field.NewPath("metadata"))
	if len(problems) == 0 {
		return ""
	}
	return problems.ToAggregate().Error()
}

// isPathSegment checks the rules for names that all types share.
func isPathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// place puts a namespaced object of an ObjectSet into the namespace of the set. It returns the problem of its
// namespace, if any.
//
// An ObjectSet without a service account is written with the permissions of the operator, which may exceed those of the
// creator of the set. So it is confined to its namespace.
func (r *reading) place(object *unstructured.Unstructured) (problem string, err error) {
	if r.namespace == "" {
		return "", nil
	}
	kind := object.GroupVersionKind()
	found, err := r.scopeOf(kind)
	switch {
	case err != nil:
		return "", err
	case found.known && !found.namespaced && r.confined:
		return fmt.Sprintf("%s is cluster-scoped; in an ObjectSet without serviceAccountName, all objects must be in namespace %s", types.IDOf(object), r.namespace), nil
	case object.GetNamespace() == "" && (found.namespaced || !found.known):
		object.SetNamespace(r.namespace)
	case object.GetNamespace() != r.namespace && r.confined:
		return fmt.Sprintf("%s: metadata.namespace: invalid value %q; in an ObjectSet without serviceAccountName, it must be %s",
			types.IDOf(object), object.GetNamespace(), r.namespace), nil
	}
	return "", nil
}

// A scope is the scope of a type; known is false if the type is not served.
type scope struct{ namespaced, known bool }

// scopeOf returns the scope of a type. It caches scopes, because sets have many objects of few types.
func (r *reading) scopeOf(kind schema.GroupVersionKind) (scope, error) {
	if found, asked := r.scopes[kind]; asked {
		return found, nil
	}
	var found scope
	switch mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version); {
	case cluster.IsNoMatch(err):
	case err != nil:
		return scope{}, fmt.Errorf("finding type %s: %w", kind.GroupKind(), err)
	default:
		found = scope{namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace, known: true}
	}
	r.scopes[kind] = found
	return found, nil
}
