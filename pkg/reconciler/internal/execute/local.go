// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// compute completes a change without the server.
func (p *Preview) compute(change *inventory.Change, t *prepare.Object, s decide.Situation) error {
	if change.Recreate {
		t = declaring(t)
	}
	manifest, err := p.x.Desired(t, p.itemOf(t), s, s.Live)
	if err != nil {
		return err
	}
	manifest = manifest.DeepCopy()
	after := manifest
	if s.Live != nil {
		content, err := fieldset.Merge(s.Live.Object, manifest.Object, s.Live.GetManagedFields(), p.x.Server.FieldOwner)
		if err != nil {
			return fmt.Errorf("reading the fields of %s: %w", t.Key, err)
		}
		after = &unstructured.Unstructured{Object: content}
		if !change.Recreate {
			change.Conflicts = p.localConflicts(s.Live, manifest)
		}
		if err := p.removeLocally(after, t, change.Recreate, manifest); err != nil {
			return err
		}
	}
	change.Local = true
	p.show(change, t, s, after)
	return nil
}

// show shows an object before and after a change.
func (p *Preview) show(change *inventory.Change, t *prepare.Object, s decide.Situation, after *unstructured.Unstructured) {
	change.Before, change.After = Presentable(s.Live, p.x.Server.Keys), Presentable(after, p.x.Server.Keys)
	if change.Recreate {
		p.forgetAllocated(t, change.Before, s.Live.GetUID())
		p.forgetAllocated(t, change.After, s.Live.GetUID())
	}
}

// localConflicts returns the fields that applying a manifest would take from others; none if field ownership cannot be
// read.
func (p *Preview) localConflicts(live, manifest *unstructured.Unstructured) []inventory.FieldChange {
	taken, err := fieldset.WouldTake(live.Object, manifest.Object, live.GetManagedFields(), p.x.Server.FieldOwner)
	if err != nil {
		return nil
	}
	return conflictsOf(taken)
}

// removeLocally removes fields of others that the write would remove: all of them if the object is recreated, otherwise
// those that the update policy names.
func (p *Preview) removeLocally(object *unstructured.Unstructured, t *prepare.Object, recreate bool, manifest *unstructured.Unstructured) error {
	reclaim := func(manager string) bool { return recreate || p.x.Reclaims(t.Update, manager) }
	var spared []fieldpath.Path
	if !recreate {
		spared = t.IgnoreFields
	}
	surplus, err := fieldset.Surplus(t.Key.GroupKind, object.GetManagedFields(), p.x.Server.FieldOwner, reclaim, spared...)
	if err != nil {
		return fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	// Field ownership does not show yet that newly declared fields become ours.
	surplus = slices.DeleteFunc(surplus, func(path fieldpath.Path) bool { return fieldset.Exists(manifest.Object, path) })
	fieldset.Remove(object.Object, surplus, nil)
	return nil
}

// Orphaned returns the presentable object without the marks of the owner.
func (p *Preview) Orphaned(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = Presentable(object, p.x.Server.Keys)
	removeKeys(object, "labels", p.x.Server.Keys.OwnerLabel)
	removeKeys(object, "annotations", p.x.Server.Keys.OwnerAnnotation)
	if len(object.GetFinalizers()) > 0 {
		object.SetFinalizers(p.x.Finalizers.Without(object.GetFinalizers()))
	}
	return object
}

// forgetAllocated removes values that differ each time the object is created: its UID, which the Job controller puts
// into labels, and what is allocated to Services.
func (p *Preview) forgetAllocated(t *prepare.Object, object *unstructured.Unstructured, uid apitypes.UID) {
	if uid != "" {
		forgetValue(object.Object, string(uid))
	}
	if (t.Key.GroupKind != schema.GroupKind{Kind: "Service"}) {
		return
	}
	manifest, err := p.x.Manifests.Of(t)
	if err != nil {
		return
	}
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if _, declared, _ := unstructured.NestedFieldNoCopy(manifest.Object, "spec", field); !declared {
			unstructured.RemoveNestedField(object.Object, "spec", field)
		}
	}
	declared, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "ports")
	ports, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ports")
	list, _ := ports.([]any)
	for i, port := range list {
		port, ok := port.(map[string]any)
		if ok && (i >= len(declared) || !fieldset.Exists(declared[i], fieldpath.MakePathOrDie("nodePort"))) {
			delete(port, "nodePort")
		}
	}
}

// forgetValue removes map entries that have the value, and maps that this leaves empty. It reports whether the node
// itself is empty now.
func forgetValue(node any, value string) (empty bool) {
	switch node := node.(type) {
	case map[string]any:
		before := len(node)
		for key, child := range node {
			if child == value || forgetValue(child, value) {
				delete(node, key)
			}
		}
		return before > 0 && len(node) == 0
	case []any:
		for _, child := range node {
			forgetValue(child, value)
		}
	}
	return false
}

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
