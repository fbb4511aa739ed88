// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

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
	// Lenient means that fields that the API server does not know do not count.
	Lenient bool
}

// taskOptions say how objects become tasks.
type taskOptions struct {
	// Namespace is that of objects that name none.
	Namespace string
	// Operation identifies the operation. Hooks without a name get other names in another one.
	Operation string
	// Force recreates each object that cannot be updated because a field is immutable.
	Force bool
}

// tasksOf returns the tasks of objects, of which some may be hooks. The error names all objects whose annotations
// cannot be read.
func tasksOf(ctx context.Context, objects []*unstructured.Unstructured, options taskOptions) ([]syncTask, error) {
	var problems []error
	var steered []client.Object
	for _, object := range objects {
		each, err := steer(object, options)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", textOf(object), err))
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
		ReconcilerName: Name, ComponentNamespace: options.Namespace, ComponentName: options.Operation, ComponentRevision: 1,
	})
	transformed, err := transformer.TransformObjectsContext(ctx, options.Namespace, options.Operation, steered)
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

// steer returns a copy of an object whose hooks and options are those that count in an operation, in the words of Argo
// CD; nil if it is not applied.
func steer(object *unstructured.Unstructured, options taskOptions) (*unstructured.Unstructured, error) {
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
	all := map[string]string{}
	maps.Copy(all, given)
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
	if key := Name + "/" + types.AnnotationKeySuffixRecreateIfImmutable; options.Force && !isPermanent(object) {
		all[key] = cmp.Or(all[key], "true")
	}
	result := object.DeepCopy()
	result.SetAnnotations(all)
	return result, nil
}

// Heed makes the sync options Replace=true and Force=true of the live object count, unless the task has values of its
// own. Options that cannot be read do not count.
func (t syncTask) Heed(live map[string]string) {
	given := t.Object.GetAnnotations()
	own, _, _ := gitops.ReadOptions("", given[gitops.SyncOptionsAnnotation])
	options, _, _ := gitops.ReadOptions("", live[gitops.SyncOptionsAnnotation])
	all := map[string]string{}
	maps.Copy(all, given)
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

// isPermanent reports whether an object must not be recreated, because others would go with it.
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

// taskOf reads what the annotations of the engine say.
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

func textOf(object *unstructured.Unstructured) string {
	return types.ObjectText(object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()+object.GetGenerateName())
}
