// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
)

// isLocal tells whether the server cannot say what would become of an object, because its namespace or the definition of its type
// changes with the same request.
func (p *planner) isLocal(t *target) bool {
	return p.namespaces[t.key.namespace] || p.definitions[t.key.GroupKind] != nil
}

// provided tells whether the type of an object comes with other objects of the request.
func (p *planner) provided(t *target) bool {
	return p.definitions[t.key.GroupKind] != nil || t.instance
}

// computed is compute for a decision that depends on whether there is a difference.
func (p *planner) computed(change *Change, t *target, d decision, v view) error {
	if err := p.compute(change, t, v); err != nil {
		return err
	}
	if d.action != actionVerify && d.action != actionCompare {
		return nil
	}
	same := change.After != nil && sameContent(change.Before, change.After)
	if !same && d.action == actionVerify {
		change.Verb, change.Reason = VerbCorrected, changedByOthers
		return nil
	}
	change.Before, change.After, change.Local, change.Reason = nil, nil, false, ""
	if !same {
		change.Reason = changedByOthers
	}
	return nil
}

// compute completes a change without the server.
func (p *planner) compute(change *Change, t *target, v view) error {
	manifest, err := p.marked(t)
	if err != nil {
		return err
	}
	manifest = manifest.DeepCopy()
	after := manifest
	if v.live != nil {
		content, err := fieldset.Merge(v.live.Object, manifest.Object, v.live.GetManagedFields(), p.options.FieldOwner)
		if err != nil {
			return fmt.Errorf("reading the fields of %s: %w", t.key, err)
		}
		after = &unstructured.Unstructured{Object: content}
		if err := p.removeLocally(after, t, change.Recreate, manifest); err != nil {
			return err
		}
	}
	content, _ := integers(after.Object).(map[string]any)
	p.definitions[t.key.GroupKind][t.version].complete(content)
	change.Local = true
	change.Before, change.After = p.presentable(v.live), p.presentable(after)
	if change.Recreate {
		p.forgetAllocated(t, change.Before, v.live.GetUID())
		p.forgetAllocated(t, change.After, v.live.GetUID())
	}
	return nil
}

// removeLocally takes out what others own, if it goes with the write: all of it if the object is created anew, otherwise what the update policy
// says.
func (p *planner) removeLocally(object *unstructured.Unstructured, t *target, recreate bool, manifest *unstructured.Unstructured) error {
	reclaim := func(manager string) bool { return recreate || p.reclaims(t.update, manager) }
	surplus, err := fieldset.Surplus(t.key.GroupKind, object.GetManagedFields(), p.options.FieldOwner, reclaim)
	if err != nil {
		return fmt.Errorf("reading the fields of %s: %w", t.key, err)
	}
	// What is declared from now on is not known to be ours yet.
	surplus = slices.DeleteFunc(surplus, func(path fieldpath.Path) bool { return fieldset.Exists(manifest.Object, path) })
	fieldset.Remove(object.Object, surplus, nil)
	return nil
}

// presentable returns a copy of an object without what the server and the reconciler keep for themselves; nil of nil.
func (p *pass) presentable(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	removeKeys(object, "annotations", p.keys.digest)
	return object
}

// removeKeys removes labels or annotations.
func removeKeys(object *unstructured.Unstructured, field string, keys ...string) {
	entries, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field)
	content, _ := entries.(map[string]any)
	for _, key := range keys {
		delete(content, key)
	}
	if len(content) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
}

// released is presentable of an object from which the marks of the owner are taken.
func (p *planner) released(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = p.presentable(object)
	removeKeys(object, "labels", p.keys.ownerLabel)
	removeKeys(object, "annotations", p.keys.ownerAnnotation)
	if definesTypes(object.GroupVersionKind().GroupKind()) {
		object.SetFinalizers(p.finalizers().Without(object.GetFinalizers()))
	}
	return object
}

// forgetAllocated takes out of an object that does not exist yet what is another value each time it is created: its UID, where
// controllers of Jobs have it in labels, and what Services are allocated.
func (p *planner) forgetAllocated(t *target, object *unstructured.Unstructured, uid apitypes.UID) {
	if uid != "" {
		forgetValue(object.Object, string(uid))
	}
	if (t.key.GroupKind != schema.GroupKind{Kind: "Service"}) {
		return
	}
	manifest, err := p.object(t)
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

// forgetValue removes entries of maps that have the value, and maps that are empty without them. It tells whether that is so of the
// node itself.
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
