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

// editor contains the parts that most editors share.
type editor[T any] struct{ raw *T }

// editorOf returns an editor of a value; nil stands for a new one.
func editorOf[T any](value *T) editor[T] { return editor[T]{orNew(value)} }

// Raw returns the edited value itself.
func (e editor[T]) Raw() *T { return e.raw }

// ensure replaces the first item that is the same as the given one, and removes the others. If there is none, it
// appends the item. It creates a new list, because another object might share the old one.
func ensure[T any](items *[]T, item T, same func(a, b T) bool) {
	matches := func(existing T) bool { return same(existing, item) }
	place := slices.IndexFunc(*items, matches)
	if place < 0 {
		place = len(*items)
	}
	others := slices.DeleteFunc(slices.Clone(*items), matches)
	*items = slices.Insert(others, place, item)
}

// remove removes all items that match, and leaves nil if none remains. Like ensure, it creates a new list if it removes
// something.
func remove[T any](items *[]T, match func(T) bool) {
	if !slices.ContainsFunc(*items, match) {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(*items), match)
	if len(kept) == 0 {
		kept = nil
	}
	*items = kept
}

// created returns the map; it creates it if it is nil.
func created[M ~map[K]V, K comparable, V any](entries *M) M {
	if *entries == nil {
		*entries = M{}
	}
	return *entries
}

// put sets an entry of a map; it creates the map if it is nil.
func put[M ~map[K]V, K comparable, V any](entries *M, key K, value V) { created(entries)[key] = value }

// by returns a function that reports whether two items have the same key.
func by[T any, K comparable](key func(T) K) func(a, b T) bool {
	return func(a, b T) bool { return key(a) == key(b) }
}

// equal reports whether two values are the same.
func equal[T comparable](a, b T) bool { return a == b }

// deepEqual reports whether two items have the same content. A nil list or map equals an empty one, and quantities are
// compared by value.
func deepEqual[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

// is returns a function that reports whether an item equals the given one.
func is[T comparable](item T) func(T) bool {
	return func(existing T) bool { return existing == item }
}

// ObjectMetaEditor edits the metadata of an object, or of a pod template.
type ObjectMetaEditor struct{ editor[metav1.ObjectMeta] }

// NewObjectMetaEditor returns an editor of the given metadata.
func NewObjectMetaEditor(meta *metav1.ObjectMeta) *ObjectMetaEditor {
	return &ObjectMetaEditor{editorOf(meta)}
}

// EnsureLabel sets a label.
func (e *ObjectMetaEditor) EnsureLabel(key, value string) { put(&e.raw.Labels, key, value) }

// RemoveLabel removes a label.
func (e *ObjectMetaEditor) RemoveLabel(key string) { delete(e.raw.Labels, key) }

// EnsureAnnotation sets an annotation.
func (e *ObjectMetaEditor) EnsureAnnotation(key, value string) { put(&e.raw.Annotations, key, value) }

// RemoveAnnotation removes an annotation.
func (e *ObjectMetaEditor) RemoveAnnotation(key string) { delete(e.raw.Annotations, key) }

// PolicyRulesEditor edits the rules of a Role or ClusterRole.
type PolicyRulesEditor struct{ editor[[]rbacv1.PolicyRule] }

// NewPolicyRulesEditor returns an editor of the given rules.
func NewPolicyRulesEditor(rules *[]rbacv1.PolicyRule) *PolicyRulesEditor {
	return &PolicyRulesEditor{editorOf(rules)}
}

// SetRules replaces all rules; nil clears them.
func (e *PolicyRulesEditor) SetRules(rules []rbacv1.PolicyRule) {
	*e.raw = (&rbacv1.Role{Rules: rules}).DeepCopy().Rules
}

// AddRule adds a rule, even if an equal one exists.
func (e *PolicyRulesEditor) AddRule(rule rbacv1.PolicyRule) {
	*e.raw = append(slices.Clone(*e.raw), *rule.DeepCopy())
}

// EnsureRule adds a rule, identified by its whole content.
func (e *PolicyRulesEditor) EnsureRule(rule rbacv1.PolicyRule) {
	ensure(e.raw, *rule.DeepCopy(), deepEqual)
}

// RemoveRuleByIndex removes the rule at an index, starting at 0. It does nothing if the rule does not exist. Later
// rules move up, so the next call with the same index removes another rule.
func (e *PolicyRulesEditor) RemoveRuleByIndex(index int) {
	if index >= 0 && index < len(*e.raw) {
		*e.raw = slices.Concat((*e.raw)[:index], (*e.raw)[index+1:])
	}
}

// Clear removes all rules.
func (e *PolicyRulesEditor) Clear() { *e.raw = nil }

// BindingSubjectsEditor edits the subjects of a RoleBinding or ClusterRoleBinding.
type BindingSubjectsEditor struct{ editor[[]rbacv1.Subject] }

// NewBindingSubjectsEditor returns an editor of the given subjects.
func NewBindingSubjectsEditor(subjects *[]rbacv1.Subject) *BindingSubjectsEditor {
	return &BindingSubjectsEditor{editorOf(subjects)}
}

// EnsureSubject adds a subject, identified by kind, name and namespace.
func (e *BindingSubjectsEditor) EnsureSubject(subject rbacv1.Subject) {
	ensure(e.raw, subject, by(identifySubject))
}

// EnsureServiceAccount adds a ServiceAccount.
func (e *BindingSubjectsEditor) EnsureServiceAccount(name, namespace string) {
	e.EnsureSubject(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace})
}

// RemoveSubject removes a subject. Users and groups have no namespace.
func (e *BindingSubjectsEditor) RemoveSubject(kind, name, namespace string) {
	remove(e.raw, func(subject rbacv1.Subject) bool {
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

// PVCSpecEditor edits the spec of a PersistentVolumeClaim. For an existing claim, the API server allows little more
// than a larger storage request.
type PVCSpecEditor struct {
	editor[corev1.PersistentVolumeClaimSpec]
}

// NewPVCSpecEditor returns an editor of the given spec.
func NewPVCSpecEditor(spec *corev1.PersistentVolumeClaimSpec) *PVCSpecEditor {
	return &PVCSpecEditor{editorOf(spec)}
}

// SetStorageRequest sets how much storage is requested.
func (e *PVCSpecEditor) SetStorageRequest(quantity resource.Quantity) {
	put(&e.raw.Resources.Requests, corev1.ResourceStorage, quantity.DeepCopy())
}

// SetAccessModes replaces the access modes; nil clears them.
func (e *PVCSpecEditor) SetAccessModes(modes []corev1.PersistentVolumeAccessMode) {
	e.raw.AccessModes = slices.Clone(modes)
}

// SetStorageClassName sets the StorageClass. An empty name is a value, too: it disables dynamic provisioning for the
// claim.
func (e *PVCSpecEditor) SetStorageClassName(name string) { e.raw.StorageClassName = &name }

// SetVolumeMode sets whether the volume is a file system or a block device.
func (e *PVCSpecEditor) SetVolumeMode(mode corev1.PersistentVolumeMode) { e.raw.VolumeMode = &mode }

// SetVolumeName sets the PersistentVolume to bind the claim to.
func (e *PVCSpecEditor) SetVolumeName(name string) { e.raw.VolumeName = name }

// PVSpecEditor edits the spec of a PersistentVolume.
type PVSpecEditor struct {
	editor[corev1.PersistentVolumeSpec]
}

// NewPVSpecEditor returns an editor of the given spec.
func NewPVSpecEditor(spec *corev1.PersistentVolumeSpec) *PVSpecEditor {
	return &PVSpecEditor{editorOf(spec)}
}

// SetCapacity sets how much storage the volume has.
func (e *PVSpecEditor) SetCapacity(quantity resource.Quantity) {
	put(&e.raw.Capacity, corev1.ResourceStorage, quantity.DeepCopy())
}

// SetAccessModes replaces the access modes; nil clears them.
func (e *PVSpecEditor) SetAccessModes(modes []corev1.PersistentVolumeAccessMode) {
	e.raw.AccessModes = slices.Clone(modes)
}

// SetPersistentVolumeReclaimPolicy sets what happens to the volume when its claim is deleted.
func (e *PVSpecEditor) SetPersistentVolumeReclaimPolicy(policy corev1.PersistentVolumeReclaimPolicy) {
	e.raw.PersistentVolumeReclaimPolicy = policy
}

// SetStorageClassName sets the StorageClass to which the volume belongs.
func (e *PVSpecEditor) SetStorageClassName(name string) { e.raw.StorageClassName = name }

// SetMountOptions replaces the mount options; nil clears them.
func (e *PVSpecEditor) SetMountOptions(options []string) { e.raw.MountOptions = slices.Clone(options) }

// SetVolumeMode sets whether the volume is a file system or a block device.
func (e *PVSpecEditor) SetVolumeMode(mode corev1.PersistentVolumeMode) { e.raw.VolumeMode = &mode }

// SetNodeAffinity replaces the rule that defines which nodes can use the volume; nil clears it.
func (e *PVSpecEditor) SetNodeAffinity(affinity *corev1.VolumeNodeAffinity) {
	e.raw.NodeAffinity = affinity.DeepCopy()
}

// CustomResourceDefinitionSpecEditor edits the spec of a CustomResourceDefinition.
type CustomResourceDefinitionSpecEditor struct {
	editor[apiextensionsv1.CustomResourceDefinitionSpec]
}

// NewCustomResourceDefinitionSpecEditor returns an editor of the given spec.
func NewCustomResourceDefinitionSpecEditor(spec *apiextensionsv1.CustomResourceDefinitionSpec) *CustomResourceDefinitionSpecEditor {
	return &CustomResourceDefinitionSpecEditor{editorOf(spec)}
}
