// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Hook is an object that is applied only during a deletion. Its JSON form can be stored.
type Hook struct {
	// Hook is the time: pre-delete or post-delete.
	Hook string `json:"hook"`
	// Object lacks the annotation that makes it a hook.
	Object *unstructured.Unstructured `json:"object"`
}

// Check says what is wrong with a stored hook, which Split cannot have returned.
func (h Hook) Check() error {
	if h.Object == nil || h.Object.GetName() == "" {
		return errors.New("does not name an object")
	}
	return nil
}

// Split splits generated objects into regular ones and hooks. The name is that of the reconciler, the prefix of its
// annotations. It refuses hooks that could not be applied later, with a RefusedError. It does not change the objects.
func Split(objects []client.Object, name string, scheme *runtime.Scheme) (regular []client.Object, hooks []Hook, err error) {
	prefix := name + "/"
	isHook := func(object client.Object) bool {
		_, exists := object.GetAnnotations()[prefix+types.AnnotationKeySuffixDeletionHook]
		return exists
	}
	if !slices.ContainsFunc(objects, isHook) {
		return objects, nil, nil
	}
	var problems []string
	known := map[string]bool{}
	for _, object := range objects {
		if !isHook(object) {
			regular = append(regular, object)
			continue
		}
		converted, err := clients.ToUnstructured(object, scheme)
		if err != nil {
			return nil, nil, err
		}
		if names := behaviors.Names(object); len(names) > 0 {
			// Another process may apply it, from what is stored.
			problems = append(problems, fmt.Sprintf("%s: is a deletion hook, and cannot have behaviors (%s)", nameOf(converted), strings.Join(names, ", ")))
		}
		hook := Hook{}
		if hook.Object, err = copied(converted); err != nil {
			return nil, nil, err
		}
		hook.Hook, problems = takeHook(hook.Object, prefix, problems)
		if identity := hook.Hook + " " + nameOf(hook.Object); known[identity] {
			problems = append(problems, fmt.Sprintf("%s: defined more than once as %s hook", nameOf(hook.Object), hook.Hook))
		} else {
			known[identity] = true
		}
		hooks = append(hooks, hook)
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, nil, &reconciler.RefusedError{Problems: problems}
	}
	return regular, hooks, nil
}

// copied returns an object as a later process will read it.
func copied(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding the deletion hook %s: %w", nameOf(object), err)
	}
	result := &unstructured.Unstructured{}
	if err := result.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding the deletion hook %s: %w", nameOf(object), err)
	}
	return result, nil
}

// takeHook removes the annotation that makes an object a hook, and returns its value. It appends what is wrong with the
// object to the problems.
func takeHook(object *unstructured.Unstructured, prefix string, problems []string) (hook string, all []string) {
	if object.GetName() == "" {
		problems = append(problems, nameOf(object)+": metadata.name is required")
	}
	values := object.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		suffix, ours := strings.CutPrefix(key, prefix)
		if !ours || !slices.Contains(annotations.Suffixes(), suffix) {
			continue
		}
		if err := annotations.Check(suffix, values[key]); err != nil {
			problems = append(problems, fmt.Sprintf("%s: annotation %s: %s", nameOf(object), key, err))
		}
	}
	if _, both := values[prefix+types.AnnotationKeySuffixApplyHook]; both {
		problems = append(problems, fmt.Sprintf("%s: annotation %s: a deletion hook cannot also be an apply hook", nameOf(object), prefix+types.AnnotationKeySuffixApplyHook))
	}
	if _, versioned := values[prefix+types.AnnotationKeySuffixVersioned]; versioned {
		problems = append(problems, fmt.Sprintf("%s: annotation %s: a deletion hook has no versions", nameOf(object), prefix+types.AnnotationKeySuffixVersioned))
	}
	hook, _ = annotations.DeletionHook(values[prefix+types.AnnotationKeySuffixDeletionHook])
	delete(values, prefix+types.AnnotationKeySuffixDeletionHook)
	// A failed hook stays until a user deletes it, and then runs again.
	delete(values, prefix+types.AnnotationKeySuffixPurgeOnFailure)
	delete(values, prefix+types.AnnotationKeySuffixDriftPolicy)
	object.SetAnnotations(values)
	return hook, problems
}

// At returns the objects of the hooks of a time.
func At(time Time, hooks []Hook) []client.Object {
	var objects []client.Object
	for _, hook := range hooks {
		if hook.Hook == time.hook {
			objects = append(objects, hook.Object)
		}
	}
	return objects
}

func nameOf(object types.ObjectKey) string {
	return types.ObjectText(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
}
