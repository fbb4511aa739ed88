// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// orNew returns the value, or a new one if it is nil.
func orNew[T any](value *T) *T {
	if value == nil {
		return new(T)
	}
	return value
}

// specEditor is what the editors of specs have in common.
type specEditor[T any] struct{ spec *T }

// specEditorOf returns an editor of a spec; nil stands for a new one.
func specEditorOf[T any](spec *T) specEditor[T] { return specEditor[T]{orNew(spec)} }

// Raw returns the edited spec itself.
func (e specEditor[T]) Raw() *T { return e.spec }

// ensure replaces the first item that is the same as the given one, and removes the others. If there is none, it
// appends the item. The list becomes a new one, because another object might share the old one.
func ensure[T any](items *[]T, item T, same func(a, b T) bool) {
	result := make([]T, 0, len(*items)+1)
	placed := false
	for _, existing := range *items {
		if !same(existing, item) {
			result = append(result, existing)
			continue
		}
		if !placed {
			result = append(result, item)
			placed = true
		}
	}
	if !placed {
		result = append(result, item)
	}
	*items = result
}

// remove removes all items that match, and leaves nil if none remains. If it removes something, the list becomes a new
// one, as in ensure.
func remove[T any](items *[]T, match func(T) bool) {
	if !slices.ContainsFunc(*items, match) {
		return
	}
	var kept []T
	for _, existing := range *items {
		if !match(existing) {
			kept = append(kept, existing)
		}
	}
	*items = kept
}

// put sets an entry of a map, which it creates if it is nil.
func put[M ~map[K]V, K comparable, V any](entries *M, key K, value V) {
	if *entries == nil {
		*entries = M{}
	}
	(*entries)[key] = value
}

// by returns a function that reports whether two items have the same key.
func by[T any, K comparable](key func(T) K) func(a, b T) bool {
	return func(a, b T) bool { return key(a) == key(b) }
}

// equal reports whether two values are the same.
func equal[T comparable](a, b T) bool { return a == b }

// deepEqual reports whether two items have the same content. A nil list or map is the same as an empty one, and 1000m
// the same quantity as 1.
func deepEqual[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

// is returns a function that reports whether an item is this one.
func is[T comparable](item T) func(T) bool {
	return func(existing T) bool { return existing == item }
}

// ObjectMetaEditor edits the metadata of an object, or of a pod template.
type ObjectMetaEditor struct {
	meta *metav1.ObjectMeta
}

// NewObjectMetaEditor returns an editor of the given metadata.
func NewObjectMetaEditor(meta *metav1.ObjectMeta) *ObjectMetaEditor {
	return &ObjectMetaEditor{meta: orNew(meta)}
}

// Raw returns the edited metadata.
func (e *ObjectMetaEditor) Raw() *metav1.ObjectMeta { return e.meta }

// EnsureLabel sets a label.
func (e *ObjectMetaEditor) EnsureLabel(key, value string) { put(&e.meta.Labels, key, value) }

// RemoveLabel removes a label.
func (e *ObjectMetaEditor) RemoveLabel(key string) { delete(e.meta.Labels, key) }

// EnsureAnnotation sets an annotation.
func (e *ObjectMetaEditor) EnsureAnnotation(key, value string) { put(&e.meta.Annotations, key, value) }

// RemoveAnnotation removes an annotation.
func (e *ObjectMetaEditor) RemoveAnnotation(key string) { delete(e.meta.Annotations, key) }

// PolicyRulesEditor edits the rules of a Role or ClusterRole.
type PolicyRulesEditor struct {
	rules *[]rbacv1.PolicyRule
}

// NewPolicyRulesEditor returns an editor of the given rules.
func NewPolicyRulesEditor(rules *[]rbacv1.PolicyRule) *PolicyRulesEditor {
	return &PolicyRulesEditor{rules: orNew(rules)}
}

// Raw returns the edited rules.
func (e *PolicyRulesEditor) Raw() *[]rbacv1.PolicyRule { return e.rules }

// SetRules replaces all rules; nil clears them.
func (e *PolicyRulesEditor) SetRules(rules []rbacv1.PolicyRule) {
	*e.rules = (&rbacv1.Role{Rules: rules}).DeepCopy().Rules
}

// AddRule adds a rule, also if there is an equal one.
func (e *PolicyRulesEditor) AddRule(rule rbacv1.PolicyRule) {
	*e.rules = append(slices.Clone(*e.rules), *rule.DeepCopy())
}

// EnsureRule adds a rule, identified by its whole content.
func (e *PolicyRulesEditor) EnsureRule(rule rbacv1.PolicyRule) {
	ensure(e.rules, *rule.DeepCopy(), deepEqual)
}

// RemoveRuleByIndex removes the rule at an index, counted from 0. It does nothing if there is none. The rules behind it
// move, so that the next call with the same index removes another rule.
func (e *PolicyRulesEditor) RemoveRuleByIndex(index int) {
	if index >= 0 && index < len(*e.rules) {
		*e.rules = slices.Concat((*e.rules)[:index], (*e.rules)[index+1:])
	}
}

// Clear removes all rules.
func (e *PolicyRulesEditor) Clear() { *e.rules = nil }

// BindingSubjectsEditor edits the subjects of a RoleBinding or ClusterRoleBinding.
type BindingSubjectsEditor struct {
	subjects *[]rbacv1.Subject
}

// NewBindingSubjectsEditor returns an editor of the given subjects.
func NewBindingSubjectsEditor(subjects *[]rbacv1.Subject) *BindingSubjectsEditor {
	return &BindingSubjectsEditor{subjects: orNew(subjects)}
}

// Raw returns the edited subjects.
func (e *BindingSubjectsEditor) Raw() *[]rbacv1.Subject { return e.subjects }

// EnsureSubject adds a subject, identified by kind, name and namespace.
func (e *BindingSubjectsEditor) EnsureSubject(subject rbacv1.Subject) {
	ensure(e.subjects, subject, by(identifySubject))
}

// EnsureServiceAccount adds a ServiceAccount.
func (e *BindingSubjectsEditor) EnsureServiceAccount(name, namespace string) {
	e.EnsureSubject(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace})
}

// RemoveSubject removes a subject. Users and groups have no namespace.
func (e *BindingSubjectsEditor) RemoveSubject(kind, name, namespace string) {
	remove(e.subjects, func(subject rbacv1.Subject) bool {
		return identifySubject(subject) == rbacv1.Subject{Kind: kind, Name: name, Namespace: namespace}
	})
}

// RemoveServiceAccount removes a ServiceAccount.
func (e *BindingSubjectsEditor) RemoveServiceAccount(name, namespace string) {
	e.RemoveSubject(rbacv1.ServiceAccountKind, name, namespace)
}

// identifySubject returns the subject without its API group, which follows from the kind.
func identifySubject(subject rbacv1.Subject) rbacv1.Subject {
	subject.APIGroup = ""
	return subject
}

// PVCSpecEditor edits the spec of a PersistentVolumeClaim. Once the claim exists, the API server allows hardly more
// than a larger storage request.
type PVCSpecEditor struct {
	specEditor[corev1.PersistentVolumeClaimSpec]
}

// NewPVCSpecEditor returns an editor of the given spec.
func NewPVCSpecEditor(spec *corev1.PersistentVolumeClaimSpec) *PVCSpecEditor {
	return &PVCSpecEditor{specEditorOf(spec)}
}

// SetStorageRequest sets how much storage is requested.
func (e *PVCSpecEditor) SetStorageRequest(quantity resource.Quantity) {
	put(&e.spec.Resources.Requests, corev1.ResourceStorage, quantity.DeepCopy())
}

// SetAccessModes replaces the access modes; nil clears them.
func (e *PVCSpecEditor) SetAccessModes(modes []corev1.PersistentVolumeAccessMode) {
	e.spec.AccessModes = slices.Clone(modes)
}

// SetStorageClassName sets the StorageClass. The empty name is a value as well: it means that no volume is provisioned
// for the claim.
func (e *PVCSpecEditor) SetStorageClassName(name string) { e.spec.StorageClassName = &name }

// SetVolumeMode sets whether the volume is a file system or a block device.
func (e *PVCSpecEditor) SetVolumeMode(mode corev1.PersistentVolumeMode) { e.spec.VolumeMode = &mode }

// SetVolumeName sets the PersistentVolume to which the claim is to be bound.
func (e *PVCSpecEditor) SetVolumeName(name string) { e.spec.VolumeName = name }

// PVSpecEditor edits the spec of a PersistentVolume.
type PVSpecEditor struct {
	specEditor[corev1.PersistentVolumeSpec]
}

// NewPVSpecEditor returns an editor of the given spec.
func NewPVSpecEditor(spec *corev1.PersistentVolumeSpec) *PVSpecEditor {
	return &PVSpecEditor{specEditorOf(spec)}
}

// SetCapacity sets how much storage the volume has.
func (e *PVSpecEditor) SetCapacity(quantity resource.Quantity) {
	put(&e.spec.Capacity, corev1.ResourceStorage, quantity.DeepCopy())
}

// SetAccessModes replaces the access modes; nil clears them.
func (e *PVSpecEditor) SetAccessModes(modes []corev1.PersistentVolumeAccessMode) {
	e.spec.AccessModes = slices.Clone(modes)
}

// SetPersistentVolumeReclaimPolicy sets what happens to the volume when its claim is deleted.
func (e *PVSpecEditor) SetPersistentVolumeReclaimPolicy(policy corev1.PersistentVolumeReclaimPolicy) {
	e.spec.PersistentVolumeReclaimPolicy = policy
}

// SetStorageClassName sets the StorageClass to which the volume belongs.
func (e *PVSpecEditor) SetStorageClassName(name string) { e.spec.StorageClassName = name }

// SetMountOptions replaces the mount options; nil clears them.
func (e *PVSpecEditor) SetMountOptions(options []string) { e.spec.MountOptions = slices.Clone(options) }

// SetVolumeMode sets whether the volume is a file system or a block device.
func (e *PVSpecEditor) SetVolumeMode(mode corev1.PersistentVolumeMode) { e.spec.VolumeMode = &mode }

// SetNodeAffinity replaces the rule that says which nodes can use the volume; nil clears it.
func (e *PVSpecEditor) SetNodeAffinity(affinity *corev1.VolumeNodeAffinity) {
	e.spec.NodeAffinity = affinity.DeepCopy()
}

// CustomResourceDefinitionSpecEditor edits the spec of a CustomResourceDefinition.
type CustomResourceDefinitionSpecEditor struct {
	specEditor[apiextensionsv1.CustomResourceDefinitionSpec]
}

// NewCustomResourceDefinitionSpecEditor returns an editor of the given spec.
func NewCustomResourceDefinitionSpecEditor(spec *apiextensionsv1.CustomResourceDefinitionSpec) *CustomResourceDefinitionSpecEditor {
	return &CustomResourceDefinitionSpecEditor{specEditorOf(spec)}
}
