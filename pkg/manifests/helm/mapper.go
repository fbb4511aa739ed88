// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	resourcePolicyAnnotation = "helm.sh/resource-policy"
	resourcePolicyKeep       = "keep"
)

// mapper translates Helm's annotations to those of the reconciler.
type mapper struct {
	// prefix is the reconciler name with a slash.
	prefix    string
	revision  int64
	installed bool
	// releaseHooks includes hooks that are applied only when a release is tested or rolled back.
	releaseHooks bool
}

// apply returns the object with its annotations completed, and copies of it that are deletion hooks or release hooks; nothing if the object
// must not be applied.
func (m mapper) apply(object helm.Object) ([]client.Object, error) {
	annotations := object.GetAnnotations()
	if err := m.checkReserved(annotations, object.GetLabels()); err != nil {
		return nil, err
	}

	mapped := map[string]string{}
	if value, ok := annotations[resourcePolicyAnnotation]; ok {
		if strings.ToLower(strings.TrimSpace(value)) != resourcePolicyKeep {
			return nil, fmt.Errorf("annotation %s has value %q; allowed is %q", resourcePolicyAnnotation, value, resourcePolicyKeep)
		}
		mapped[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphan
	}
	var found *hook
	if !object.Definition {
		var err error
		if found, err = m.parseHook(annotations); err != nil {
			return nil, err
		}
	}
	var all []map[string]string
	if found == nil {
		all = append(all, mapped)
	} else {
		if _, ok := annotations[m.prefix+types.AnnotationKeySuffixStatusHint]; !ok && object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
			// Helm waits for the end of Pods that are hooks.
			mapped[types.AnnotationKeySuffixStatusHint] = types.StatusHintRunToCompletion
		}
		all = m.mapHook(*found, mapped)
	}
	objects := make([]client.Object, len(all))
	for i, mapped := range all {
		completed := object
		if i < len(all)-1 {
			completed.Unstructured = object.DeepCopy()
		}
		if err := m.merge(completed, completed.GetAnnotations(), mapped); err != nil {
			return nil, err
		}
		objects[i] = completed.Unstructured
	}
	return objects, nil
}

// checkReserved refuses annotations and labels that only the reconciler may write.
func (m mapper) checkReserved(annotations map[string]string, labels map[string]string) error {
	for _, suffix := range []string{types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixDigest} {
		if _, ok := annotations[m.prefix+suffix]; ok {
			return fmt.Errorf("annotation %s%s is reserved for the reconciler", m.prefix, suffix)
		}
	}
	if _, ok := labels[m.prefix+types.LabelKeySuffixOwnerId]; ok {
		return fmt.Errorf("label %s%s is reserved for the reconciler", m.prefix, types.LabelKeySuffixOwnerId)
	}
	return nil
}

// merge adds the translated annotations, given by their suffixes, to those of the object.
func (m mapper) merge(object helm.Object, annotations map[string]string, mapped map[string]string) error {
	if len(mapped) == 0 {
		return nil
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, suffix := range slices.Sorted(maps.Keys(mapped)) {
		key, value := m.prefix+suffix, mapped[suffix]
		present, ok := annotations[key]
		if ok && !sameValue(suffix, present, value) {
			return fmt.Errorf("annotation %s has value %q, but Helm's annotations of the object demand %q", key, present, value)
		}
		if !ok {
			annotations[key] = value
		}
	}
	object.SetAnnotations(annotations)
	return nil
}

// sameValue compares orders as numbers, and policies in kebab or camel case.
func sameValue(suffix, present, demanded string) bool {
	if order, err := annotations.Order(present); err == nil {
		other, err := annotations.Order(demanded)
		return err == nil && order == other
	}
	policy, err := annotations.Policy(suffix, present)
	return err == nil && policy == demanded
}
