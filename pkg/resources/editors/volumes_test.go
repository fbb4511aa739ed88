// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestPVCSpecEditor(t *testing.T) {
	t.Parallel()
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	check(t, editors.NewPVCSpecEditor, map[string]row[corev1.PersistentVolumeClaimSpec, *editors.PVCSpecEditor]{
		"each method sets its own field": {
			start: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany}, DataSource: &corev1.TypedLocalObjectReference{},
			},
			edit: func(e *editors.PVCSpecEditor) {
				e.SetStorageRequest(resource.MustParse("1Gi"))
				e.SetAccessModes(modes)
				e.SetStorageClassName("fast")
				e.SetVolumeMode(corev1.PersistentVolumeBlock)
				e.SetVolumeName("v")
				e.Raw().DataSource = nil
			},
			want: corev1.PersistentVolumeClaimSpec{
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
				AccessModes: modes, StorageClassName: new("fast"), VolumeMode: new(corev1.PersistentVolumeBlock), VolumeName: "v",
			},
		},
		"the empty class is a value, and no access modes are not": {
			start: corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), AccessModes: modes},
			edit:  func(e *editors.PVCSpecEditor) { e.SetStorageClassName(""); e.SetAccessModes(nil) },
			want:  corev1.PersistentVolumeClaimSpec{StorageClassName: new("")},
		},
		"other requests stay": {
			start: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi"), "example.io/iops": resource.MustParse("1")},
			}},
			edit: func(e *editors.PVCSpecEditor) { e.SetStorageRequest(resource.MustParse("2Gi")) },
			want: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{"storage": resource.MustParse("2Gi"), "example.io/iops": resource.MustParse("1")},
			}},
		},
	})
}

func TestPVSpecEditor(t *testing.T) {
	t.Parallel()
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	affinity := &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
	full := corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{"storage": resource.MustParse("1Gi")}, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		StorageClassName: "fast", MountOptions: []string{"ro"}, VolumeMode: new(corev1.PersistentVolumeFilesystem), NodeAffinity: affinity,
	}
	check(t, editors.NewPVSpecEditor, map[string]row[corev1.PersistentVolumeSpec, *editors.PVSpecEditor]{
		"each method sets its own field": {
			start: corev1.PersistentVolumeSpec{MountOptions: []string{"rw", "noatime"}, ClaimRef: &corev1.ObjectReference{}},
			edit: func(e *editors.PVSpecEditor) {
				e.SetCapacity(resource.MustParse("1Gi"))
				e.SetAccessModes(modes)
				e.SetPersistentVolumeReclaimPolicy(corev1.PersistentVolumeReclaimRetain)
				e.SetStorageClassName("fast")
				e.SetMountOptions([]string{"ro"})
				e.SetVolumeMode(corev1.PersistentVolumeFilesystem)
				e.SetNodeAffinity(affinity)
				e.Raw().ClaimRef = nil
			},
			want: full,
		},
		"nil clears fields": {
			start: *full.DeepCopy(),
			edit: func(e *editors.PVSpecEditor) {
				e.SetAccessModes(nil)
				e.SetMountOptions(nil)
				e.SetNodeAffinity(nil)
			},
			want: corev1.PersistentVolumeSpec{
				Capacity: full.Capacity, PersistentVolumeReclaimPolicy: full.PersistentVolumeReclaimPolicy, StorageClassName: "fast", VolumeMode: full.VolumeMode,
			},
		},
	})
}
