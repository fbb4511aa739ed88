// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type containerRows = map[string]row[corev1.Container, *editors.ContainerEditor]

func TestContainerEditorSets(t *testing.T) {
	t.Parallel()
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path}}}
	}
	full := corev1.Container{
		Image: "web:2", ImagePullPolicy: corev1.PullAlways, Command: []string{"web", "serve"}, Args: []string{"-v"}, WorkingDir: "/srv",
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		LivenessProbe: probe("/live"), ReadinessProbe: probe("/ready"), StartupProbe: probe("/start"),
		SecurityContext: &corev1.SecurityContext{RunAsNonRoot: new(true)},
		Lifecycle:       &corev1.Lifecycle{StopSignal: new(corev1.SIGQUIT)},
		Resources:       corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
	}
	check(t, editors.NewContainerEditor, containerRows{
		"each method sets its own field": {
			start: corev1.Container{Name: "a", Image: "web:1", Command: []string{"x"}, Args: []string{"y", "z"}, LivenessProbe: probe("/old")},
			edit: func(e *editors.ContainerEditor) {
				e.SetImage("web:2")
				e.SetImagePullPolicy(corev1.PullAlways)
				e.SetCommand("web", "serve")
				e.SetArgs("-v")
				e.SetWorkingDir("/srv")
				e.SetRestartPolicy(corev1.ContainerRestartPolicyAlways)
				e.SetLivenessProbe(probe("/live"))
				e.SetReadinessProbe(probe("/ready"))
				e.SetStartupProbe(probe("/start"))
				e.SetSecurityContext(&corev1.SecurityContext{RunAsNonRoot: new(true)})
				e.SetLifecycle(&corev1.Lifecycle{StopSignal: new(corev1.SIGQUIT)})
				e.SetResources(corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}})
				e.Raw().Name = ""
			},
			want: full,
		},
		"nil and nothing clear fields": {
			start: *full.DeepCopy(),
			edit: func(e *editors.ContainerEditor) {
				e.SetCommand()
				e.SetArgs()
				e.SetLivenessProbe(nil)
				e.SetReadinessProbe(nil)
				e.SetStartupProbe(nil)
				e.SetSecurityContext(nil)
				e.SetLifecycle(nil)
				e.SetResources(corev1.ResourceRequirements{})
			},
			want: corev1.Container{Image: "web:2", ImagePullPolicy: corev1.PullAlways, WorkingDir: "/srv", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
		},
		"one resource is set in a map that is missing": {
			edit: func(e *editors.ContainerEditor) {
				e.SetResourceLimit(corev1.ResourceCPU, resource.MustParse("2"))
				e.SetResourceRequest(corev1.ResourceMemory, resource.MustParse("1Gi"))
			},
			want: corev1.Container{Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}, Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			}},
		},
		"other resources stay": {
			start: corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}}},
			edit:  func(e *editors.ContainerEditor) { e.SetResourceLimit(corev1.ResourceCPU, resource.MustParse("2")) },
			want:  corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}}},
		},
	})
}

func TestContainerEditorEnvironment(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) corev1.Container {
		container := corev1.Container{}
		for i := 0; i < len(pairs); i += 2 {
			container.Env = append(container.Env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return container
	}
	from := func(names ...string) corev1.Container {
		container := corev1.Container{}
		for _, name := range names {
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
		}
		return container
	}
	check(t, editors.NewContainerEditor, containerRows{
		"a new variable is appended": {
			start: env("A", "1"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureEnvVar(corev1.EnvVar{Name: "B", Value: "2"}) },
			want:  env("A", "1", "B", "2"),
		},
		"a variable is replaced at its place, and its duplicates go": {
			start: env("A", "1", "B", "2", "C", "3", "B", "4"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureEnvVar(corev1.EnvVar{Name: "B", Value: "5"}) },
			want:  env("A", "1", "B", "5", "C", "3"),
		},
		"a variable is replaced as a whole": {
			start: corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{}}}},
			edit:  func(e *editors.ContainerEditor) { e.EnsureEnvVar(corev1.EnvVar{Name: "A", Value: "1"}) },
			want:  env("A", "1"),
		},
		"of several variables the last one with a name counts": {
			edit: func(e *editors.ContainerEditor) {
				e.EnsureEnvVars([]corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "A", Value: "3"}})
			},
			want: env("A", "3", "B", "2"),
		},
		"all variables with a name are removed": {
			start: env("A", "1", "B", "2", "A", "3"),
			edit:  func(e *editors.ContainerEditor) { e.RemoveEnvVar("A") },
			want:  env("B", "2"),
		},
		"several variables are removed, as far as they exist": {
			start: env("A", "1", "B", "2"),
			edit:  func(e *editors.ContainerEditor) { e.RemoveEnvVars([]string{"B", "C", "A"}) },
		},
		"a source is added to none": {
			edit: func(e *editors.ContainerEditor) { e.EnsureEnvFrom(from("a").EnvFrom[0]) },
			want: from("a"),
		},
		"a source with other content is another one": {
			start: from("a"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureEnvFrom(from("b").EnvFrom[0]) },
			want:  from("a", "b"),
		},
		"a source with the same content is the same": {
			start: from("a", "b", "a"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureEnvFrom(from("a").EnvFrom[0]) },
			want:  from("a", "b"),
		},
	})
}

func TestContainerEditorArgs(t *testing.T) {
	t.Parallel()
	args := func(args ...string) corev1.Container { return corev1.Container{Args: args} }
	check(t, editors.NewContainerEditor, containerRows{
		"an argument is appended to none": {
			edit: func(e *editors.ContainerEditor) { e.EnsureArg("-a") },
			want: args("-a"),
		},
		"only exactly the same argument is the same": {
			start: args("-a=1"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureArg("-a") },
			want:  args("-a=1", "-a"),
		},
		"duplicates stay, as they may be meant": {
			start: args("-v", "-v", "x"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureArg("-v") },
			want:  args("-v", "-v", "x"),
		},
		"of several arguments the missing ones are appended": {
			start: args("-b"),
			edit:  func(e *editors.ContainerEditor) { e.EnsureArgs([]string{"-a", "-b", "-c", "-a"}) },
			want:  args("-b", "-a", "-c"),
		},
		"all occurrences are removed": {
			start: args("-a", "-b", "-a"),
			edit:  func(e *editors.ContainerEditor) { e.RemoveArg("-a") },
			want:  args("-b"),
		},
		"several arguments are removed, as far as they exist": {
			start: args("-a", "-b", "-c"),
			edit:  func(e *editors.ContainerEditor) { e.RemoveArgs([]string{"-c", "-d", "-a"}) },
			want:  args("-b"),
		},
	})
}

func TestContainerEditorPorts(t *testing.T) {
	t.Parallel()
	ports := func(ports ...corev1.ContainerPort) corev1.Container { return corev1.Container{Ports: ports} }
	ensure := func(port corev1.ContainerPort) func(*editors.ContainerEditor) {
		return func(e *editors.ContainerEditor) { e.EnsurePort(port) }
	}
	web, metrics := corev1.ContainerPort{Name: "web", ContainerPort: 80}, corev1.ContainerPort{Name: "metrics", ContainerPort: 9090}
	check(t, editors.NewContainerEditor, containerRows{
		"a port is added to none":              {edit: ensure(web), want: ports(web)},
		"a port with another name is appended": {start: ports(web), edit: ensure(metrics), want: ports(web, metrics)},
		"a port with the name is replaced, and duplicates go": {
			start: ports(corev1.ContainerPort{Name: "web", ContainerPort: 8080}, metrics, corev1.ContainerPort{Name: "web", ContainerPort: 81}),
			edit:  ensure(web), want: ports(web, metrics),
		},
		"without a name, no protocol is TCP": {
			start: ports(corev1.ContainerPort{ContainerPort: 80, Protocol: corev1.ProtocolTCP}, metrics),
			edit:  ensure(corev1.ContainerPort{ContainerPort: 80, HostPort: 8080}),
			want:  ports(corev1.ContainerPort{ContainerPort: 80, HostPort: 8080}, metrics),
		},
		"without a name, another protocol is another port": {
			start: ports(corev1.ContainerPort{ContainerPort: 53}),
			edit:  ensure(corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP}),
			want:  ports(corev1.ContainerPort{ContainerPort: 53}, corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP}),
		},
		"a port without a name is not the one with a name": {
			start: ports(web), edit: ensure(corev1.ContainerPort{ContainerPort: 80}), want: ports(web, corev1.ContainerPort{ContainerPort: 80}),
		},
		"ports are removed by name": {
			start: ports(web, metrics, web), edit: func(e *editors.ContainerEditor) { e.RemovePort("web") }, want: ports(metrics),
		},
		"the empty name means ports without a name": {
			start: ports(corev1.ContainerPort{ContainerPort: 1}, web, corev1.ContainerPort{ContainerPort: 2}),
			edit:  func(e *editors.ContainerEditor) { e.RemovePort("") }, want: ports(web),
		},
		"what is absent is not removed": {start: ports(web), edit: func(e *editors.ContainerEditor) { e.RemovePort("metrics") }, want: ports(web)},
	})
}

func TestContainerEditorVolumeMounts(t *testing.T) {
	t.Parallel()
	mounts := func(pairs ...string) corev1.Container {
		container := corev1.Container{}
		for i := 0; i < len(pairs); i += 2 {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{MountPath: pairs[i], Name: pairs[i+1]})
		}
		return container
	}
	ensure := func(path, name string) func(*editors.ContainerEditor) {
		return func(e *editors.ContainerEditor) { e.EnsureVolumeMount(corev1.VolumeMount{MountPath: path, Name: name}) }
	}
	remove := func(path string) func(*editors.ContainerEditor) {
		return func(e *editors.ContainerEditor) { e.RemoveVolumeMount(path) }
	}
	check(t, editors.NewContainerEditor, containerRows{
		"a mount is added to none":                     {edit: ensure("/a", "x"), want: mounts("/a", "x")},
		"a volume may be mounted twice":                {start: mounts("/a", "x"), edit: ensure("/b", "x"), want: mounts("/a", "x", "/b", "x")},
		"a path is mounted once":                       {start: mounts("/a", "x", "/b", "x", "/a", "z"), edit: ensure("/a", "y"), want: mounts("/a", "y", "/b", "x")},
		"a mount is removed by its path":               {start: mounts("/a", "x", "/b", "x"), edit: remove("/a"), want: mounts("/b", "x")},
		"the name of the volume is not the path":       {start: mounts("/a", "x"), edit: remove("x"), want: mounts("/a", "x")},
		"the last mount goes, and no empty list stays": {start: mounts("/a", "x"), edit: remove("/a")},
	})
}
