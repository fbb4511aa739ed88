// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// hookReading reads the annotations of the objects of one generation.
type hookReading struct {
	argo, helm bool
	prefix     string
	owner      string // namespace and name of the component
	revision   int64
	charts     gitops.HelmMapper
	// seen contains the Argo CD hooks made from hooks of charts, which occur once for each event of Helm.
	seen map[string]bool
}

// hooked is an object of the result.
type hooked struct {
	object client.Object
	kind   schema.GroupKind
	// apart means that the object is applied separately, after all others or during a deletion.
	apart bool
}

func (t *HookTransformer) reading(ctx context.Context, owner string) (*hookReading, error) {
	name, err := generator.ReconcilerNameFromContext(ctx)
	if err != nil {
		return nil, err
	}
	revision, err := generator.ComponentRevisionFromContext(ctx)
	if err != nil {
		return nil, err
	}
	r := &hookReading{argo: t.argo, helm: t.helm, prefix: name + "/", owner: owner, revision: revision, seen: map[string]bool{}}
	if t.helm {
		installed, err := generator.InstalledFromContext(ctx)
		if err != nil {
			return nil, err
		}
		r.charts = gitops.HelmMapper{Prefix: r.prefix, Revision: revision, Installed: installed && revision > 1, ReleaseHooks: generator.ReleaseHooksFromContext(ctx)}
	}
	return r, nil
}

// read returns the objects that an object is translated to.
func (r *hookReading) read(ctx context.Context, object client.Object) ([]hooked, error) {
	kind, err := kindOf(ctx, object)
	if err != nil {
		return nil, err
	}
	given := object.GetAnnotations()
	isHelmHook := gitops.HasHelmHook(given) && !gitops.HasHook(given)
	result := []hooked{{object: object, kind: kind.GroupKind()}}
	switch {
	case r.argo && gitops.IsSteered(given) && !isHelmHook:
		return r.readArgo(ctx, object, kind.GroupKind())
	case r.helm && gitops.HasHelmAnnotations(given):
		if result, err = r.readHelm(object, kind.GroupKind()); err != nil {
			return nil, err
		}
	}
	if r.argo && gitops.IsSteered(given) {
		return r.withOptions(ctx, result)
	}
	return result, nil
}

// withOptions applies the sync options of objects that Helm's annotations order.
func (r *hookReading) withOptions(ctx context.Context, objects []hooked) ([]hooked, error) {
	for i, each := range objects {
		given := each.object.GetAnnotations()
		steering, err := gitops.Read(given)
		if err != nil {
			return nil, err
		}
		if _, exists := given[gitops.SyncWaveAnnotation]; exists {
			steering.Notes = append(steering.Notes, fmt.Sprintf("annotation %s has no effect, because the object is a hook of Helm", gitops.SyncWaveAnnotation))
		}
		r.warn(ctx, each.object, each.kind, steering.Notes)
		missing, err := annotations.Missing(given, r.prefix, demandOptions(steering.Options, given), "Argo CD's annotations")
		if err != nil {
			return nil, err
		}
		if objects[i].object, err = annotated(each.object, given, missing); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// warn reports the parts of annotations that have no effect.
func (r *hookReading) warn(ctx context.Context, object client.Object, kind schema.GroupKind, notes []string) {
	generating.Warn(ctx, func() []string {
		texts := make([]string, len(notes))
		for i, note := range notes {
			texts[i] = types.ObjectText(kind, object.GetNamespace(), object.GetName()+object.GetGenerateName()) + ": " + note
		}
		return texts
	})
}

// readHelm translates Helm's annotations like generators for charts do.
func (r *hookReading) readHelm(object client.Object, kind schema.GroupKind) ([]hooked, error) {
	variants, err := r.charts.Map(object, kind, false)
	if err != nil {
		return nil, err
	}
	var result []hooked
	for _, missing := range variants {
		each, err := annotated(object, object.GetAnnotations(), missing)
		if err != nil {
			return nil, err
		}
		result = append(result, r.made(each, kind))
	}
	return result, nil
}

// readArgo translates Argo CD's annotations, and Helm's as Argo CD interprets them.
func (r *hookReading) readArgo(ctx context.Context, object client.Object, kind schema.GroupKind) ([]hooked, error) {
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	if err != nil {
		return nil, err
	}
	r.warn(ctx, object, kind, steering.Notes)
	ofChart := gitops.HasHelmHook(given)
	if ofChart {
		given = maps.Clone(given)
		for _, suffix := range hookSuffixes {
			delete(given, r.prefix+suffix)
		}
	}
	source, err := annotated(object, given, nil)
	if err != nil {
		return nil, err
	}
	if steering.Hook && source.GetName() == "" {
		source.SetGenerateName(cmp.Or(source.GetGenerateName(), strings.ToLower(kind.Kind)+"-"))
	}
	var result []hooked
	taken := false // an object of another phase has the name
	for _, phase := range r.phasesOf(ctx, object, kind, &steering) {
		missing, err := annotations.Missing(given, r.prefix, r.demand(steering, phase, kind, given), "Argo CD's annotations")
		if err != nil {
			return nil, err
		}
		each, err := annotated(object, given, missing)
		if err != nil {
			return nil, err
		}
		if err := r.name(each, source, steering.Hook, phase); err != nil {
			return nil, err
		}
		if err := rename(each, object, phase, taken); err != nil {
			return nil, err
		}
		taken = taken || !isDeletion(phase)
		identity := string(phase) + " " + types.ObjectText(kind, each.GetNamespace(), each.GetName())
		if ofChart && r.seen[identity] {
			continue
		}
		r.seen[identity] = true
		result = append(result, r.made(each, kind))
	}
	return result, nil
}

func (r *hookReading) made(object client.Object, kind schema.GroupKind) hooked {
	_, deletion := object.GetAnnotations()[r.prefix+types.AnnotationKeySuffixDeletionHook]
	_, late := object.GetAnnotations()[r.prefix+types.AnnotationKeySuffixApplyHook]
	return hooked{object: object, kind: kind, apart: deletion || late}
}

// name gives a nameless hook a name that depends on its source.
func (r *hookReading) name(hook, source client.Object, isHook bool, phase gitops.Phase) error {
	if !isHook || hook.GetName() != "" {
		return nil
	}
	name, err := gitops.GeneratedName(behaviors.Bare(source), source.GetGenerateName(), phase, r.owner, strconv.FormatInt(r.revision, 10))
	if err != nil {
		return err
	}
	hook.SetName(name)
	hook.SetGenerateName("")
	return nil
}

// rename gives a hook with a named source another name if an object of another phase has that name. Deletion hooks keep
// their name, because they are applied separately.
func rename(hook, object client.Object, phase gitops.Phase, taken bool) error {
	if !taken || object.GetName() == "" || isDeletion(phase) {
		return nil
	}
	name, err := gitops.PhaseName(object.GetName(), phase)
	if err != nil {
		return err
	}
	hook.SetName(name)
	return nil
}

// lift moves Namespaces and definitions to the waves of the first objects that need them.
func (r *hookReading) lift(namespace string, objects []hooked) error {
	var places []gitops.Placed
	var indexes []int
	for i, each := range objects {
		if each.apart {
			continue
		}
		place := gitops.Placed{ObjectID: types.ObjectID{GroupKind: each.kind, Namespace: cmp.Or(each.object.GetNamespace(), namespace), Name: each.object.GetName()}}
		var err error
		switch each.kind {
		case schema.GroupKind{Kind: "Namespace"}:
			place.Namespace = ""
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			place.Namespace = ""
			if place.Defines, err = definedBy(each.object); err != nil {
				return err
			}
		}
		if value, ok := each.object.GetAnnotations()[r.prefix+types.AnnotationKeySuffixApplyOrder]; ok {
			if place.Order, err = annotations.Order(value); err != nil {
				// Applying the object reports this error.
				continue
			}
		}
		places, indexes = append(places, place), append(indexes, i)
	}
	before := slices.Clone(places)
	gitops.Lift(places)
	for i, place := range places {
		if place.Order == before[i].Order {
			continue
		}
		lifted := &objects[indexes[i]]
		var err error
		if lifted.object, err = annotated(lifted.object, lifted.object.GetAnnotations(), r.inOrder(place.Order, lifted.object)); err != nil {
			return err
		}
	}
	return nil
}

// inOrder returns the annotations for an apply order. The object is not deleted earlier than its author wants.
func (r *hookReading) inOrder(order int, object client.Object) map[string]string {
	deleteOrder := -order
	if own, err := annotations.Order(object.GetAnnotations()[r.prefix+types.AnnotationKeySuffixDeleteOrder]); err == nil {
		deleteOrder = max(own, deleteOrder)
	}
	return map[string]string{
		r.prefix + types.AnnotationKeySuffixApplyOrder:  strconv.Itoa(order),
		r.prefix + types.AnnotationKeySuffixDeleteOrder: strconv.Itoa(deleteOrder),
	}
}

// annotated returns a copy of an object with the given annotations and more.
func annotated(object client.Object, given, more map[string]string) (client.Object, error) {
	copied, err := copyOf(object)
	if err != nil {
		return nil, err
	}
	copied.SetAnnotations(labels.Merge(given, more))
	return copied, nil
}

// definedBy returns the type that a definition defines; empty if it has none.
func definedBy(definition client.Object) (schema.GroupKind, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(behaviors.Bare(definition))
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("reading definition %s: %w", definition.GetName(), err)
	}
	group, _, _ := unstructured.NestedString(content, "spec", "group")
	kind, _, _ := unstructured.NestedString(content, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, nil
}
