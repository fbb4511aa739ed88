// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	resourcePolicyAnnotation = "helm.sh/resource-policy"
	resourcePolicyKeep       = "keep"
)

// HelmMapper translates Helm's annotations to those of the reconciler. Package pkg/manifests/helm documents what each
// of them becomes.
type HelmMapper struct {
	// Prefix is the reconciler name with a slash.
	Prefix string
	// Revision and Installed are those of the component: whether all its dependents were ready in an earlier revision.
	Revision  int64
	Installed bool
	// ReleaseHooks includes hooks that are applied only when a release is tested or rolled back.
	ReleaseHooks bool
}

// HasHelmAnnotations reports whether an object has annotations of Helm that Map reads.
func HasHelmAnnotations(annotations map[string]string) bool {
	_, hook := annotations[HelmHookAnnotation]
	_, policy := annotations[resourcePolicyAnnotation]
	return hook || policy
}

// IsKeptByHelm reports whether Helm would leave an object behind.
func IsKeptByHelm(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[resourcePolicyAnnotation])) == resourcePolicyKeep
}

// Map returns the annotations that an object needs in addition to its own, one set for each object that is made of it:
// the dependent, deletion hooks and release hooks; none if the object must not be applied. Definition means that it is
// from the crds folder of a chart, where Helm knows no hooks.
func (m HelmMapper) Map(object client.Object, kind schema.GroupKind, definition bool) ([]map[string]string, error) {
	given := object.GetAnnotations()
	if err := m.checkReserved(given, object.GetLabels()); err != nil {
		return nil, err
	}
	mapped := map[string]string{}
	if value, ok := given[resourcePolicyAnnotation]; ok {
		if strings.ToLower(strings.TrimSpace(value)) != resourcePolicyKeep {
			return nil, fmt.Errorf("annotation %s: invalid value %q; must be %q", resourcePolicyAnnotation, value, resourcePolicyKeep)
		}
		mapped[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphan
	}
	var found *helmHook
	if !definition {
		var err error
		if found, err = m.parseHook(given); err != nil {
			return nil, err
		}
	}
	all := []map[string]string{mapped}
	if found != nil {
		if _, ok := given[m.Prefix+types.AnnotationKeySuffixStatusHint]; !ok && kind == (schema.GroupKind{Kind: "Pod"}) {
			// Helm waits for the end of Pods that are hooks.
			mapped[types.AnnotationKeySuffixStatusHint] = types.StatusHintRunToCompletion
		}
		all = m.mapHook(*found, mapped)
	}
	for i, mapped := range all {
		var err error
		if all[i], err = annotations.Missing(given, m.Prefix, mapped, "Helm's annotations"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkReserved refuses annotations and labels that only the reconciler may write.
func (m HelmMapper) checkReserved(annotations map[string]string, labels map[string]string) error {
	for _, suffix := range []string{types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixDigest} {
		if _, ok := annotations[m.Prefix+suffix]; ok {
			return fmt.Errorf("annotation %s%s is reserved for the reconciler", m.Prefix, suffix)
		}
	}
	if _, ok := labels[m.Prefix+types.LabelKeySuffixOwnerId]; ok {
		return fmt.Errorf("label %s%s is reserved for the reconciler", m.Prefix, types.LabelKeySuffixOwnerId)
	}
	return nil
}
