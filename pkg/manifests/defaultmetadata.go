// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
)

// DefaultMetadataObjectTransformer adds labels and annotations to all objects that do not have them. Existing values win, even if
// they are empty. It does not change nested objects such as pod templates, because a changed pod template
// would replace running pods. It is [Pure].
type DefaultMetadataObjectTransformer struct {
	labels, annotations map[string]string
}

var (
	_ ObjectTransformer = &DefaultMetadataObjectTransformer{}
	_ Pure              = &DefaultMetadataObjectTransformer{}
)

// NewDefaultMetadataObjectTransformer returns a transformer that adds the given labels and annotations; both may be nil. It fails if
// an API server would reject a key or the value of a label.
func NewDefaultMetadataObjectTransformer(labels map[string]string, annotations map[string]string) (*DefaultMetadataObjectTransformer, error) {
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, problem := range validation.IsQualifiedName(key) {
			problems = append(problems, fmt.Sprintf("label key %q: %s", key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(labels[key]) {
			problems = append(problems, fmt.Sprintf("label %s: invalid value %q: %s", key, labels[key], problem))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			problems = append(problems, fmt.Sprintf("annotation key %q: %s", key, problem))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("reading default metadata: %s", strings.Join(problems, "; "))
	}
	return &DefaultMetadataObjectTransformer{labels: maps.Clone(labels), annotations: maps.Clone(annotations)}, nil
}

// TransformObjects returns the objects with the missing labels and annotations added. It does not change the given objects.
func (t *DefaultMetadataObjectTransformer) TransformObjects(_ string, _ string, objects []client.Object) ([]client.Object, error) {
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	transformed := make([]client.Object, len(objects))
	for i, object := range objects {
		transformed[i] = object
		labels, moreLabels := withDefaults(object.GetLabels(), t.labels)
		annotations, moreAnnotations := withDefaults(object.GetAnnotations(), t.annotations)
		if !moreLabels && !moreAnnotations {
			continue
		}
		copied, err := copyOf(object)
		if err != nil {
			return nil, err
		}
		if moreLabels {
			copied.SetLabels(labels)
		}
		if moreAnnotations {
			copied.SetAnnotations(annotations)
		}
		transformed[i] = copied
	}
	return transformed, nil
}

// withDefaults returns a copy of the map with the defaults added, and reports whether it added any.
func withDefaults(given, defaults map[string]string) (map[string]string, bool) {
	merged := maps.Clone(defaults)
	if merged == nil {
		return given, false
	}
	maps.Copy(merged, given)
	return merged, len(merged) > len(given)
}

// Fingerprint covers all labels and annotations.
func (t *DefaultMetadataObjectTransformer) Fingerprint() string {
	sum, err := digest.Of(map[string]any{"labels": t.labels, "annotations": t.annotations})
	if err != nil {
		return ""
	}
	return "defaultmetadata/1 " + sum
}
