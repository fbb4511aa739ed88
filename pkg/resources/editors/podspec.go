// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	corev1 "k8s.io/api/core/v1"
)

// PodSpecEditor edits the spec of a pod, or of a pod template.
type PodSpecEditor struct{ specEditor[corev1.PodSpec] }

// NewPodSpecEditor returns an editor of the given spec.
func NewPodSpecEditor(spec *corev1.PodSpec) *PodSpecEditor {
	return &PodSpecEditor{specEditorOf(spec)}
}

// SetServiceAccountName sets the ServiceAccount of the pod. An empty name stands for the ServiceAccount default.
func (e *PodSpecEditor) SetServiceAccountName(name string) { e.spec.ServiceAccountName = name }

// EnsureVolume sets a volume, identified by its name.
func (e *PodSpecEditor) EnsureVolume(volume corev1.Volume) {
	ensure(&e.spec.Volumes, *volume.DeepCopy(), by(func(v corev1.Volume) string { return v.Name }))
}

// RemoveVolume removes a volume. Mounts of containers stay.
func (e *PodSpecEditor) RemoveVolume(name string) {
	remove(&e.spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}

// EnsureToleration adds a toleration, identified by its whole content.
func (e *PodSpecEditor) EnsureToleration(toleration corev1.Toleration) {
	ensure(&e.spec.Tolerations, *toleration.DeepCopy(), deepEqual)
}

// RemoveTolerations removes all tolerations for which match returns true; none if match is nil.
func (e *PodSpecEditor) RemoveTolerations(match func(corev1.Toleration) bool) {
	if match != nil {
		remove(&e.spec.Tolerations, match)
	}
}

// EnsureNodeSelector sets a label that nodes must have.
func (e *PodSpecEditor) EnsureNodeSelector(key, value string) { put(&e.spec.NodeSelector, key, value) }

// RemoveNodeSelector removes a label that nodes must have.
func (e *PodSpecEditor) RemoveNodeSelector(key string) { delete(e.spec.NodeSelector, key) }

// EnsureImagePullSecret adds a Secret for pulling images, identified by its name.
func (e *PodSpecEditor) EnsureImagePullSecret(name string) {
	ensure(&e.spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name}, equal)
}

// RemoveImagePullSecret removes a Secret for pulling images.
func (e *PodSpecEditor) RemoveImagePullSecret(name string) {
	remove(&e.spec.ImagePullSecrets, is(corev1.LocalObjectReference{Name: name}))
}

// SetPriorityClassName sets the PriorityClass of the pod.
func (e *PodSpecEditor) SetPriorityClassName(name string) { e.spec.PriorityClassName = name }

// SetHostNetwork sets whether the pod uses the network of the host.
func (e *PodSpecEditor) SetHostNetwork(enabled bool) { e.spec.HostNetwork = enabled }

// SetHostPID sets whether the pod sees the processes of the host.
func (e *PodSpecEditor) SetHostPID(enabled bool) { e.spec.HostPID = enabled }

// SetHostIPC sets whether the pod uses the IPC namespace of the host.
func (e *PodSpecEditor) SetHostIPC(enabled bool) { e.spec.HostIPC = enabled }

// SetSecurityContext replaces the security context of the pod; nil clears it.
func (e *PodSpecEditor) SetSecurityContext(context *corev1.PodSecurityContext) {
	e.spec.SecurityContext = context.DeepCopy()
}
