// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type podRows = map[string]row[corev1.PodSpec, *editors.PodSpecEditor]

func TestPodSpecEditorSets(t *testing.T) {
	t.Parallel()
	full := corev1.PodSpec{
		ServiceAccountName: "web", AutomountServiceAccountToken: new(false), PriorityClassName: "high", RuntimeClassName: new("gvisor"),
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(0)), DNSPolicy: corev1.DNSClusterFirstWithHostNet,
		HostNetwork: true, HostPID: true, HostIPC: true,
		SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(1))},
		Affinity:        &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
	}
	check(t, editors.NewPodSpecEditor, podRows{
		"each method sets its own field": {
			start: corev1.PodSpec{ServiceAccountName: "old", TerminationGracePeriodSeconds: new(int64(30)), NodeName: "x"},
			edit: func(e *editors.PodSpecEditor) {
				e.SetServiceAccountName("web")
				e.SetAutomountServiceAccountToken(false)
				e.SetPriorityClassName("high")
				e.SetRuntimeClassName("gvisor")
				e.SetRestartPolicy(corev1.RestartPolicyNever)
				e.SetTerminationGracePeriodSeconds(0)
				e.SetDNSPolicy(corev1.DNSClusterFirstWithHostNet)
				e.SetHostNetwork(true)
				e.SetHostPID(true)
				e.SetHostIPC(true)
				e.SetSecurityContext(&corev1.PodSecurityContext{FSGroup: new(int64(1))})
				e.SetAffinity(&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}})
				e.Raw().NodeName = ""
			},
			want: full,
		},
		"the parts of the host are three": {
			start: corev1.PodSpec{HostNetwork: true, HostPID: true, HostIPC: true},
			edit:  func(e *editors.PodSpecEditor) { e.SetHostPID(false) },
			want:  corev1.PodSpec{HostNetwork: true, HostIPC: true},
		},
		"nil clears fields": {
			start: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{}, Affinity: &corev1.Affinity{}},
			edit:  func(e *editors.PodSpecEditor) { e.SetSecurityContext(nil); e.SetAffinity(nil) },
		},
	})
}

func TestPodSpecEditorLists(t *testing.T) {
	t.Parallel()
	volume := func(name, secret string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
	}
	volumes := func(volumes ...corev1.Volume) corev1.PodSpec { return corev1.PodSpec{Volumes: volumes} }
	secrets := func(names ...string) corev1.PodSpec {
		spec := corev1.PodSpec{}
		for _, name := range names {
			spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
		}
		return spec
	}
	check(t, editors.NewPodSpecEditor, podRows{
		"a volume is added to none": {
			edit: func(e *editors.PodSpecEditor) { e.EnsureVolume(volume("a", "x")) },
			want: volumes(volume("a", "x")),
		},
		"a volume is replaced at its place, and its duplicates go": {
			start: volumes(volume("a", "x"), volume("b", "x"), volume("a", "z")),
			edit:  func(e *editors.PodSpecEditor) { e.EnsureVolume(volume("a", "y")) },
			want:  volumes(volume("a", "y"), volume("b", "x")),
		},
		"a volume is replaced with its source": {
			start: volumes(corev1.Volume{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}),
			edit:  func(e *editors.PodSpecEditor) { e.EnsureVolume(volume("a", "x")) },
			want:  volumes(volume("a", "x")),
		},
		"a volume is removed by its name": {
			start: volumes(volume("a", "x"), volume("b", "x")),
			edit:  func(e *editors.PodSpecEditor) { e.RemoveVolume("a"); e.RemoveVolume("x") },
			want:  volumes(volume("b", "x")),
		},
		"a pull secret is added once": {
			start: secrets("a", "b", "a"),
			edit:  func(e *editors.PodSpecEditor) { e.EnsureImagePullSecret("a"); e.EnsureImagePullSecret("c") },
			want:  secrets("a", "b", "c"),
		},
		"a pull secret is removed": {
			start: secrets("a", "b", "a"),
			edit:  func(e *editors.PodSpecEditor) { e.RemoveImagePullSecret("a"); e.RemoveImagePullSecret("c") },
			want:  secrets("b"),
		},
	})
}

func TestPodSpecEditorScheduling(t *testing.T) {
	t.Parallel()
	tolerations := func(tolerations ...corev1.Toleration) corev1.PodSpec {
		return corev1.PodSpec{Tolerations: tolerations}
	}
	seconds := func(key string, seconds int64) corev1.Toleration {
		return corev1.Toleration{Key: key, TolerationSeconds: &seconds}
	}
	spread := func(key string, action corev1.UnsatisfiableConstraintAction, skew int32) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{TopologyKey: key, WhenUnsatisfiable: action, MaxSkew: skew}
	}
	constraints := func(constraints ...corev1.TopologySpreadConstraint) corev1.PodSpec {
		return corev1.PodSpec{TopologySpreadConstraints: constraints}
	}
	nodes := func(labels map[string]string) corev1.PodSpec { return corev1.PodSpec{NodeSelector: labels} }
	check(t, editors.NewPodSpecEditor, podRows{
		"a toleration is the same if all its fields are, also behind pointers": {
			start: tolerations(seconds("a", 1), seconds("b", 1), seconds("a", 1)),
			edit:  func(e *editors.PodSpecEditor) { e.EnsureToleration(seconds("a", 1)) },
			want:  tolerations(seconds("a", 1), seconds("b", 1)),
		},
		"a toleration with another field is another one": {
			start: tolerations(seconds("a", 1)),
			edit:  func(e *editors.PodSpecEditor) { e.EnsureToleration(seconds("a", 2)) },
			want:  tolerations(seconds("a", 1), seconds("a", 2)),
		},
		"tolerations are removed as the function says": {
			start: tolerations(seconds("a", 1), seconds("b", 1), seconds("a", 2)),
			edit: func(e *editors.PodSpecEditor) {
				e.RemoveTolerations(func(toleration corev1.Toleration) bool { return toleration.Key == "a" })
			},
			want: tolerations(seconds("b", 1)),
		},
		"without a function no toleration is removed": {
			start: tolerations(seconds("a", 1)),
			edit:  func(e *editors.PodSpecEditor) { e.RemoveTolerations(nil) },
			want:  tolerations(seconds("a", 1)),
		},
		"a node label is set without a map": {
			edit: func(e *editors.PodSpecEditor) { e.EnsureNodeSelector("a", "1") },
			want: nodes(map[string]string{"a": "1"}),
		},
		"a node label is replaced, another one removed": {
			start: nodes(map[string]string{"a": "1", "b": "1", "c": "1"}),
			edit: func(e *editors.PodSpecEditor) {
				e.EnsureNodeSelector("a", "2")
				e.RemoveNodeSelector("b")
				e.RemoveNodeSelector("d")
			},
			want: nodes(map[string]string{"a": "2", "c": "1"}),
		},
		"no node label is removed from nothing": {edit: func(e *editors.PodSpecEditor) { e.RemoveNodeSelector("a") }},
		"a constraint with key and action is replaced": {
			start: constraints(spread("zone", corev1.DoNotSchedule, 1), spread("zone", corev1.ScheduleAnyway, 1), spread("zone", corev1.DoNotSchedule, 3)),
			edit: func(e *editors.PodSpecEditor) {
				e.EnsureTopologySpreadConstraint(spread("zone", corev1.DoNotSchedule, 2))
			},
			want: constraints(spread("zone", corev1.DoNotSchedule, 2), spread("zone", corev1.ScheduleAnyway, 1)),
		},
		"a constraint with another key is appended": {
			start: constraints(spread("zone", corev1.DoNotSchedule, 1)),
			edit: func(e *editors.PodSpecEditor) {
				e.EnsureTopologySpreadConstraint(spread("host", corev1.DoNotSchedule, 1))
			},
			want: constraints(spread("zone", corev1.DoNotSchedule, 1), spread("host", corev1.DoNotSchedule, 1)),
		},
		"constraints are removed by key, whatever the action": {
			start: constraints(spread("zone", corev1.DoNotSchedule, 1), spread("host", corev1.DoNotSchedule, 1), spread("zone", corev1.ScheduleAnyway, 1)),
			edit: func(e *editors.PodSpecEditor) {
				e.RemoveTopologySpreadConstraint("zone")
				e.RemoveTopologySpreadConstraint("x")
			},
			want: constraints(spread("host", corev1.DoNotSchedule, 1)),
		},
	})
}
