// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// PodSpecEditor edits the spec of a pod, or of a pod template.
type PodSpecEditor struct{ editor[corev1.PodSpec] }

// NewPodSpecEditor returns an editor of the given spec.
func NewPodSpecEditor(spec *corev1.PodSpec) *PodSpecEditor {
	return &PodSpecEditor{editorOf(spec)}
}

// SetServiceAccountName sets the ServiceAccount of the pod. An empty name means the ServiceAccount "default".
func (e *PodSpecEditor) SetServiceAccountName(name string) { e.raw.ServiceAccountName = name }

// EnsureVolume sets a volume, identified by its name.
func (e *PodSpecEditor) EnsureVolume(volume corev1.Volume) {
	ensure(&e.raw.Volumes, *volume.DeepCopy(), by(func(v corev1.Volume) string { return v.Name }))
}

// RemoveVolume removes a volume. Volume mounts of containers stay.
func (e *PodSpecEditor) RemoveVolume(name string) {
	remove(&e.raw.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}

// EnsureToleration adds a toleration, identified by its whole content.
func (e *PodSpecEditor) EnsureToleration(toleration corev1.Toleration) {
	ensure(&e.raw.Tolerations, *toleration.DeepCopy(), deepEqual)
}

// RemoveTolerations removes all tolerations for which match returns true; none if match is nil.
func (e *PodSpecEditor) RemoveTolerations(match func(corev1.Toleration) bool) {
	if match != nil {
		remove(&e.raw.Tolerations, match)
	}
}

// EnsureNodeSelector sets a label that nodes must have.
func (e *PodSpecEditor) EnsureNodeSelector(key, value string) { put(&e.raw.NodeSelector, key, value) }

// RemoveNodeSelector removes a label that nodes must have.
func (e *PodSpecEditor) RemoveNodeSelector(key string) { delete(e.raw.NodeSelector, key) }

// EnsureImagePullSecret adds a Secret for pulling images, identified by its name.
func (e *PodSpecEditor) EnsureImagePullSecret(name string) {
	ensure(&e.raw.ImagePullSecrets, corev1.LocalObjectReference{Name: name}, equal)
}

// RemoveImagePullSecret removes a Secret for pulling images.
func (e *PodSpecEditor) RemoveImagePullSecret(name string) {
	remove(&e.raw.ImagePullSecrets, is(corev1.LocalObjectReference{Name: name}))
}

// SetPriorityClassName sets the PriorityClass of the pod.
func (e *PodSpecEditor) SetPriorityClassName(name string) { e.raw.PriorityClassName = name }

// SetHostNetwork sets whether the pod uses the network of the host.
func (e *PodSpecEditor) SetHostNetwork(enabled bool) { e.raw.HostNetwork = enabled }

// SetHostPID sets whether the pod sees the processes of the host.
func (e *PodSpecEditor) SetHostPID(enabled bool) { e.raw.HostPID = enabled }

// SetHostIPC sets whether the pod uses the IPC namespace of the host.
func (e *PodSpecEditor) SetHostIPC(enabled bool) { e.raw.HostIPC = enabled }

// SetSecurityContext replaces the security context of the pod; nil clears it.
func (e *PodSpecEditor) SetSecurityContext(context *corev1.PodSecurityContext) {
	e.raw.SecurityContext = context.DeepCopy()
}

// ContainerEditor edits a container or an init container.
type ContainerEditor struct{ editor[corev1.Container] }

// NewContainerEditor returns an editor of the given container.
func NewContainerEditor(container *corev1.Container) *ContainerEditor {
	return &ContainerEditor{editorOf(container)}
}

// SetImage sets the image, with its tag or digest.
func (e *ContainerEditor) SetImage(image string) { e.raw.Image = image }

// EnsureArg appends an argument unless exactly the same one exists. Unlike other Ensure methods it removes no
// duplicates, because an argument may be repeated on purpose.
func (e *ContainerEditor) EnsureArg(arg string) {
	if !slices.Contains(e.raw.Args, arg) {
		e.raw.Args = append(slices.Clone(e.raw.Args), arg)
	}
}

// EnsureArgs calls [ContainerEditor.EnsureArg] for each argument.
func (e *ContainerEditor) EnsureArgs(args []string) {
	for _, arg := range args {
		e.EnsureArg(arg)
	}
}

// RemoveArg removes all arguments that equal the given one exactly.
func (e *ContainerEditor) RemoveArg(arg string) { remove(&e.raw.Args, is(arg)) }

// RemoveArgs calls [ContainerEditor.RemoveArg] for each argument.
func (e *ContainerEditor) RemoveArgs(args []string) {
	for _, arg := range args {
		e.RemoveArg(arg)
	}
}

// EnsureEnvVar sets an environment variable, identified by its name.
func (e *ContainerEditor) EnsureEnvVar(variable corev1.EnvVar) {
	ensure(&e.raw.Env, *variable.DeepCopy(), by(func(v corev1.EnvVar) string { return v.Name }))
}

// EnsureEnvVars calls [ContainerEditor.EnsureEnvVar] for each variable.
func (e *ContainerEditor) EnsureEnvVars(variables []corev1.EnvVar) {
	for _, variable := range variables {
		e.EnsureEnvVar(variable)
	}
}

// RemoveEnvVar removes an environment variable.
func (e *ContainerEditor) RemoveEnvVar(name string) {
	remove(&e.raw.Env, func(v corev1.EnvVar) bool { return v.Name == name })
}

// RemoveEnvVars calls [ContainerEditor.RemoveEnvVar] for each name.
func (e *ContainerEditor) RemoveEnvVars(names []string) {
	for _, name := range names {
		e.RemoveEnvVar(name)
	}
}

// SetResourceLimit sets the limit of one resource, such as cpu.
func (e *ContainerEditor) SetResourceLimit(name corev1.ResourceName, quantity resource.Quantity) {
	put(&e.raw.Resources.Limits, name, quantity.DeepCopy())
}

// SetResourceRequest sets the request of one resource, such as cpu.
func (e *ContainerEditor) SetResourceRequest(name corev1.ResourceName, quantity resource.Quantity) {
	put(&e.raw.Resources.Requests, name, quantity.DeepCopy())
}

// SetResources replaces all requests, limits and claims.
func (e *ContainerEditor) SetResources(resources corev1.ResourceRequirements) {
	e.raw.Resources = *resources.DeepCopy()
}

// EnsurePort sets a port. A port with a name is identified by its name; a port without a name is identified, among
// those without a name, by containerPort and protocol. An empty protocol equals TCP.
func (e *ContainerEditor) EnsurePort(port corev1.ContainerPort) {
	ensure(&e.raw.Ports, port, by(func(p corev1.ContainerPort) portKey { return keyOfPort(p.Name, p.ContainerPort, p.Protocol) }))
}

// RemovePort removes the port with the given name; an empty name removes all ports without a name.
func (e *ContainerEditor) RemovePort(name string) {
	remove(&e.raw.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
}

// EnsureVolumeMount mounts a volume. A mount is identified by its mountPath.
func (e *ContainerEditor) EnsureVolumeMount(mount corev1.VolumeMount) {
	ensure(&e.raw.VolumeMounts, *mount.DeepCopy(), by(func(m corev1.VolumeMount) string { return m.MountPath }))
}

// RemoveVolumeMount removes the mounts at a path.
func (e *ContainerEditor) RemoveVolumeMount(mountPath string) {
	remove(&e.raw.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mountPath })
}

// SetLivenessProbe replaces the liveness probe; nil clears it.
func (e *ContainerEditor) SetLivenessProbe(probe *corev1.Probe) {
	e.raw.LivenessProbe = probe.DeepCopy()
}

// SetReadinessProbe replaces the readiness probe; nil clears it.
func (e *ContainerEditor) SetReadinessProbe(probe *corev1.Probe) {
	e.raw.ReadinessProbe = probe.DeepCopy()
}

// SetStartupProbe replaces the startup probe; nil clears it.
func (e *ContainerEditor) SetStartupProbe(probe *corev1.Probe) {
	e.raw.StartupProbe = probe.DeepCopy()
}

// portKey identifies a port of a container or a Service.
type portKey struct {
	name     string
	port     int32
	protocol corev1.Protocol
}

// keyOfPort returns the key of a port. If the port has a name, the key has only that.
func keyOfPort(name string, port int32, protocol corev1.Protocol) portKey {
	switch {
	case name != "":
		return portKey{name: name}
	case protocol == "":
		return portKey{port: port, protocol: corev1.ProtocolTCP}
	default:
		return portKey{port: port, protocol: protocol}
	}
}
