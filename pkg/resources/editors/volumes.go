// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

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
