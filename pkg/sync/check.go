// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// invalidError means that an operation cannot begin. Nothing was written.
type invalidError struct {
	reasons []string
	results []ResourceSyncResult
}

// Error returns the reasons.
func (e *invalidError) Error() string {
	return "nothing was changed: " + enumerate(e.reasons)
}

// shownReasons is the maximum number of reasons in a message.
const shownReasons = 10

// enumerate joins texts, sorted and without duplicates.
func enumerate(texts []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(texts)))
	if more := len(sorted) - shownReasons; more > 0 {
		sorted = append(sorted[:shownReasons:shownReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(sorted, "; ")
}

// refuse adds the reason why an object must not be applied or pruned.
func (e *invalidError) refuse(id types.ObjectID, result ResourceSyncResult, reason string) {
	result.Status, result.HookPhase, result.Message = ResultCodeSyncFailed, OperationFailed, reason
	e.results = append(e.results, result)
	e.reasons = append(e.reasons, id.String()+": "+reason)
}

// orNil returns the error, if there is a reason.
func (e *invalidError) orNil() error {
	if len(e.reasons) == 0 {
		return nil
	}
	return e
}

// check verifies, by permission and by a dry run, that all objects may be applied, before the first of them is. It
// returns the planned results.
func (c *syncContext) check(ctx context.Context, w *work) ([]ResourceSyncResult, error) {
	if err := cmp.Or(c.checkPermissions(ctx, w), c.checkNamespaces(ctx, w)); err != nil {
		return nil, err
	}
	// The last plan must be that of the first step, which needs its watches.
	ofFailure, err := c.planFailure(ctx, w)
	if err != nil {
		return nil, w.refused(err)
	}
	plan, err := c.engine.Plan(ctx, w.request, reconciler.PlanOptions{Compare: true})
	if err != nil {
		return nil, w.refused(err)
	}
	changes := slices.Concat(plan.Changes, ofFailure)
	invalid := &invalidError{}
	for _, change := range changes {
		id := w.id(change.Object)
		if task, wanted := w.tasks[id]; wanted {
			w.same[id] = isSame(change)
			if reason := c.whyRefused(ctx, id, task, change); reason != "" {
				invalid.refuse(id, withTask(ResourceSyncResult{}, id, task), reason)
			}
		}
	}
	if err := invalid.orNil(); err != nil {
		return nil, err
	}
	var planned []ResourceSyncResult
	for _, change := range changes {
		if result, ok := c.plannedResult(w, change); ok {
			planned = append(planned, result)
		}
	}
	return append(planned, c.skipped(w)...), nil
}

// isContinued reports whether another process has begun the operation.
func (c *syncContext) isContinued() bool { return c.initial != nil && len(c.initial.results) > 0 }

// whyRefused returns why a planned change must not be made; empty if it may be made.
func (c *syncContext) whyRefused(ctx context.Context, id types.ObjectID, task syncTask, change reconciler.Change) string {
	if change.Refusal != "" || c.lenient || task.Lenient {
		return change.Refusal
	}
	unknown := slices.IndexFunc(change.Notes, func(note string) bool { return strings.HasPrefix(note, "unknown field") })
	switch {
	case unknown >= 0:
		return change.Notes[unknown] + unknownFieldsAdvice
	case change.Local:
		return c.unknownFields(ctx, id, task)
	default:
		return ""
	}
}

const unknownFieldsAdvice = "; to leave them out, turn off the validation of manifests, or set the sync option Validate=false"

// unknownFields returns the fields of an object that the API server does not know. That works before its namespace
// exists, because the server decodes an object before it looks for the namespace. Other errors do not count: they
// require the namespace.
func (c *syncContext) unknownFields(ctx context.Context, id types.ObjectID, task syncTask) string {
	if _, isDeclared := c.info.declared[id.GroupKind]; isDeclared {
		return ""
	}
	object := task.Object.DeepCopy()
	object.SetNamespace(id.Namespace)
	unstructured.RemoveNestedField(object.Object, "status")
	err := c.client.Create(ctx, object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if _, unknown, found := strings.Cut(fmt.Sprint(err), "strict decoding error: "); found && apierrors.IsBadRequest(err) {
		return unknown + unknownFieldsAdvice
	}
	return ""
}

// planFailure plans the application of SyncFail hooks, which Plan omits otherwise.
func (c *syncContext) planFailure(ctx context.Context, w *work) ([]reconciler.Change, error) {
	request := w.request
	request.Objects, request.Inventory, request.Version = nil, nil, ""
	for _, task := range w.tasks {
		if task.Phase == gitops.SyncFail {
			object := task.Object.DeepCopy()
			annotations := object.GetAnnotations()
			delete(annotations, Name+"/"+types.AnnotationKeySuffixApplyHook)
			object.SetAnnotations(annotations)
			request.Objects = append(request.Objects, object)
		}
	}
	if len(request.Objects) == 0 {
		return nil, nil
	}
	// Other objects may be their namespaces, or define their types.
	request.Objects = append(request.Objects, slices.DeleteFunc(slices.Clone(w.request.Objects), func(object client.Object) bool {
		kind := object.GetObjectKind().GroupVersionKind().GroupKind()
		return w.tasks[types.IDOf(object)].Phase == gitops.SyncFail || kind != namespaces && kind != definitions
	})...)
	plan, err := c.engine.Plan(ctx, request, reconciler.PlanOptions{Compare: true})
	return slices.DeleteFunc(plan.Changes, func(change reconciler.Change) bool {
		return w.tasks[types.IDOf(change.Object)].Phase != gitops.SyncFail
	}), err
}

// refused converts an error of the engine about single objects into an invalidError with results.
func (w *work) refused(err error) error {
	refused, isRefused := errors.AsType[*reconciler.RefusedError](err)
	if !isRefused {
		return err
	}
	invalid := &invalidError{}
	for _, id := range sortedIDs(w.tasks) {
		// The engine cannot tell whether objects of unknown types are namespaced.
		unplaced := types.ObjectID{GroupKind: id.GroupKind, Name: id.Name}
		for _, problem := range refused.Problems {
			reason, found := strings.CutPrefix(problem, id.String()+": ")
			if !found {
				reason, found = strings.CutPrefix(problem, unplaced.String()+": ")
			}
			if found {
				invalid.refuse(id, withTask(ResourceSyncResult{}, id, w.tasks[id]), reason)
			}
		}
	}
	invalid.reasons = refused.Problems
	return invalid
}

// checkPermissions calls the permission validator for all objects.
func (c *syncContext) checkPermissions(ctx context.Context, w *work) error {
	if c.permission == nil {
		return nil
	}
	invalid := &invalidError{}
	discovered := map[schema.GroupVersion]*metav1.APIResourceList{}
	ask := func(id types.ObjectID, object *unstructured.Unstructured, result ResourceSyncResult) error {
		resource, err := c.resourceOf(object, discovered)
		if err != nil {
			return err
		}
		if err := c.permission(object, resource); err != nil {
			invalid.refuse(id, result, err.Error())
		}
		return ctx.Err()
	}
	for _, id := range sortedIDs(w.tasks) {
		task := w.tasks[id]
		if err := ask(id, task.Object, withTask(ResourceSyncResult{}, id, task)); err != nil {
			return err
		}
	}
	for _, id := range sortedIDs(w.pruned) {
		item := w.pruned[id]
		if live := w.obsolete[id]; live != nil {
			if err := ask(id, live, resultOf(item, "", "")); err != nil {
				return err
			}
		}
	}
	return invalid.orNil()
}

// checkNamespaces verifies that all namespaces exist or will be applied, as far as they can be read.
func (c *syncContext) checkNamespaces(ctx context.Context, w *work) error {
	invalid := &invalidError{}
	exists := map[string]bool{"": true}
	for _, id := range sortedIDs(w.tasks) {
		task := w.tasks[id]
		if _, known := exists[id.Namespace]; !known {
			_, exists[id.Namespace] = w.tasks[types.ObjectID{GroupKind: namespaces, Name: id.Namespace}]
			if !exists[id.Namespace] {
				object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
				err := c.client.Get(ctx, client.ObjectKey{Name: id.Namespace}, object)
				if client.IgnoreNotFound(err) != nil && !apierrors.IsForbidden(err) {
					return fmt.Errorf("reading namespace %s: %w", id.Namespace, err)
				}
				exists[id.Namespace] = !apierrors.IsNotFound(err)
			}
		}
		if !exists[id.Namespace] {
			invalid.refuse(id, withTask(ResourceSyncResult{}, id, task), fmt.Sprintf("namespace %s does not exist, and is not in the manifests", id.Namespace))
		}
	}
	return invalid.orNil()
}

// namespaces is the type of namespaces.
var namespaces = schema.GroupKind{Kind: "Namespace"}

// resourceOf returns the type of an object from discovery. If the type is not served, this is a guess.
func (c *syncContext) resourceOf(object *unstructured.Unstructured, discovered map[schema.GroupVersion]*metav1.APIResourceList) (*metav1.APIResource, error) {
	kind := object.GroupVersionKind()
	list, known := discovered[kind.GroupVersion()]
	if !known {
		var err error
		list, err = c.client.DiscoveryClient().ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("asking for the types of %s: %w", kind.GroupVersion(), err)
		}
		discovered[kind.GroupVersion()] = list
	}
	resource := metav1.APIResource{Kind: kind.Kind, Namespaced: c.place(object).Namespace != ""}
	guess, _ := meta.UnsafeGuessKindToResource(kind)
	resource.Name = guess.Resource
	if list != nil {
		for _, each := range list.APIResources {
			if each.Kind == kind.Kind && !strings.Contains(each.Name, "/") {
				resource = each
			}
		}
	}
	resource.Group, resource.Version = kind.Group, kind.Version
	return &resource, nil
}

// A syncTask is an object to be applied, in one phase.
type syncTask struct {
	// Object has the annotations of the engine.
	Object *unstructured.Unstructured
	// Phase is PreSync, Sync, PostSync or SyncFail.
	Phase gitops.Phase
	// Hook means that it is a hook.
	Hook bool
	// Wave within the phase.
	Wave int
	// Lenient means that fields unknown to the API server are accepted.
	Lenient bool
}

// taskOptions configure how objects become tasks: the namespace is the default; hooks without a name get other names in
// another operation; force recreates each object that cannot be updated because a field is immutable.
type taskOptions struct {
	namespace, operation string
	force                bool
}

// tasksOf returns the tasks of objects, including hooks. The error names all objects whose annotations cannot be read.
func tasksOf(ctx context.Context, objects []*unstructured.Unstructured, options taskOptions) ([]syncTask, error) {
	var problems []error
	var steered []client.Object
	for _, object := range objects {
		each, err := steer(object, options.force)
		switch {
		case err != nil:
			name := object.GetName() + object.GetGenerateName()
			text := types.ObjectText(object.GroupVersionKind().GroupKind(), object.GetNamespace(), name)
			problems = append(problems, fmt.Errorf("%s: %w", text, err))
		case each != nil:
			steered = append(steered, each)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD)
	if err != nil {
		return nil, err
	}
	// The operation takes the place of a revision of a component.
	ctx = generator.NewContext(ctx, generator.Surroundings{
		ReconcilerName: Name, ComponentNamespace: options.namespace, ComponentName: options.operation, ComponentRevision: 1,
	})
	transformed, err := transformer.TransformObjectsContext(ctx, options.namespace, options.operation, steered)
	if err != nil {
		return nil, err
	}
	result := make([]syncTask, len(transformed))
	for i, each := range transformed {
		object, isUnstructured := each.(*unstructured.Unstructured)
		if !isUnstructured {
			return nil, fmt.Errorf("%s became a %T", types.IDOf(each), each)
		}
		if result[i], err = taskOf(object); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// steer returns a copy of an object with only the hooks and options that an operation supports, in Argo CD's terms; nil
// if the object is not applied.
func steer(object *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	if err != nil {
		return nil, err
	}
	phases := operationPhases(steering)
	if len(phases) == 0 {
		return nil, nil
	}
	if object.GetName() == "" && !steering.Hook {
		return nil, errors.New("metadata.name: must not be empty; only hooks get a name")
	}
	all := labels.Merge(given, nil)
	for _, key := range []string{gitops.HelmHookAnnotation, gitops.HelmHookWeightAnnotation, gitops.HelmHookDeletePolicyAnnotation} {
		delete(all, key)
	}
	if steering.Wave != 0 {
		all[gitops.SyncWaveAnnotation] = strconv.Itoa(steering.Wave)
	}
	if steering.Hook {
		all[gitops.HookAnnotation] = joinTexts(phases)
		if !steering.Defaulted {
			all[gitops.HookDeletePolicyAnnotation] = joinTexts(steering.DeletePolicies)
		}
	}
	if key := Name + "/" + types.AnnotationKeySuffixPrunePolicy; gitops.IsKeptByHelm(given) {
		all[key] = cmp.Or(all[key], types.PrunePolicyKeep)
	}
	if key := Name + "/" + types.AnnotationKeySuffixRecreateIfImmutable; force && !isPermanent(object) {
		all[key] = cmp.Or(all[key], "true")
	}
	result := object.DeepCopy()
	result.SetAnnotations(all)
	return result, nil
}

// Heed applies the sync options Replace=true and Force=true of the live object, unless the task has values of its own.
// It ignores invalid options.
func (t syncTask) Heed(live map[string]string) {
	given := t.Object.GetAnnotations()
	own, _, _ := gitops.ReadOptions("", given[gitops.SyncOptionsAnnotation])
	options, _, _ := gitops.ReadOptions("", live[gitops.SyncOptionsAnnotation])
	all := labels.Merge(given, nil)
	heed := func(option gitops.Option, suffix, value string) {
		if _, declared := own[option]; !declared && options.Get(option) == gitops.True {
			all[Name+"/"+suffix] = cmp.Or(all[Name+"/"+suffix], value)
		}
	}
	heed(gitops.Replace, types.AnnotationKeySuffixUpdatePolicy, types.UpdatePolicyReplace)
	if !isPermanent(t.Object) {
		heed(gitops.Force, types.AnnotationKeySuffixRecreateIfImmutable, "true")
	}
	if len(all) > len(given) {
		t.Object.SetAnnotations(all)
	}
}

// operationPhases returns the phases of an operation in which an object is applied.
func operationPhases(steering gitops.Steering) []gitops.Phase {
	return slices.DeleteFunc(slices.Clone(steering.Phases), func(phase gitops.Phase) bool { return phase == gitops.PreDelete || phase == gitops.PostDelete })
}

// isPermanent reports whether an object must not be recreated, because other objects would be deleted with it.
func isPermanent(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind().GroupKind()
	return kind == namespaces || kind == definitions
}

func joinTexts[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ",")
}

// taskOf returns the task of an object with annotations of the engine.
func taskOf(object *unstructured.Unstructured) (syncTask, error) {
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	if err != nil {
		return syncTask{}, fmt.Errorf("%s: %w", types.IDOf(object), err)
	}
	task := syncTask{Object: object, Phase: gitops.Sync, Hook: steering.Hook, Lenient: steering.Options.Get(gitops.Validate) == gitops.False}
	if text, ok := given[Name+"/"+types.AnnotationKeySuffixApplyOrder]; ok {
		if task.Wave, err = strconv.Atoi(text); err != nil {
			return syncTask{}, fmt.Errorf("%s: annotation %s/%s: invalid value %q; must be a number", types.IDOf(object), Name, types.AnnotationKeySuffixApplyOrder, text)
		}
	}
	task.Phase, task.Wave = gitops.PhaseOf(task.Wave)
	switch given[Name+"/"+types.AnnotationKeySuffixApplyHook] {
	case types.ApplyHookPostApply:
		task.Phase = gitops.PostSync
	case types.ApplyHookOnFailure:
		task.Phase = gitops.SyncFail
	}
	return task, nil
}
