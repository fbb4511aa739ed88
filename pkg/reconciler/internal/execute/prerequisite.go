// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// missingTexts are what the admission plugins for pods say if an object does not exist that a pod refers to, by the
// kind of that object.
var missingTexts = map[schema.GroupKind]string{
	{Kind: "ServiceAccount"}:                            `serviceaccount "%s" not found`,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: `no PriorityClass with name %s was found`,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:        `RuntimeClass "%s" not found`,
}

// comesBefore reports whether the API server has refused an object only because another one does not exist yet, which
// Apply would create before it.
func (p *Preview) comesBefore(t *prepare.Object, err error) bool {
	if !apierrors.IsForbidden(err) && !IsNotFound(err) {
		return false
	}
	return slices.ContainsFunc(p.objects, func(other *prepare.Object) bool {
		return other.ApplyOrder <= t.ApplyOrder && (other.Key.Namespace == "" || other.Key.Namespace == t.Key.Namespace) && lacks(t, err, other)
	})
}

// lacks reports whether the API server has refused an object because another one does not exist.
func lacks(t *prepare.Object, err error, other *prepare.Object) bool {
	if text, exists := missingTexts[other.Key.GroupKind]; exists {
		return strings.Contains(err.Error(), fmt.Sprintf(text, other.Key.Name))
	}
	// If the role of a binding does not exist, the API server reports the name of the role with the resource of the
	// binding.
	var status apierrors.APIStatus
	return IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name == other.Key.Name &&
		t.Key.Group == prepare.GroupRBAC && strings.HasSuffix(t.Key.Kind, "RoleBinding") && other.Key.Group == prepare.GroupRBAC && strings.HasSuffix(other.Key.Kind, "Role")
}
