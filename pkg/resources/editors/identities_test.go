// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestContainerEditor(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) corev1.Container {
		container := corev1.Container{}
		for i := 0; i < len(pairs); i += 2 {
			container.Env = append(container.Env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return container
	}
	web, metrics := corev1.ContainerPort{Name: "web", ContainerPort: 80}, corev1.ContainerPort{Name: "metrics", ContainerPort: 9090}
	dns, dnsTCP := corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP}, corev1.ContainerPort{ContainerPort: 53}
	check(t, editors.NewContainerEditor, map[string]row[corev1.Container, *editors.ContainerEditor]{
		"a variable is replaced at its place, and its duplicates go": {
			start: env("A", "1", "B", "2", "C", "3", "B", "4"),
			edit: func(e *editors.ContainerEditor) {
				e.EnsureEnvVars([]corev1.EnvVar{{Name: "B", Value: "5"}, {Name: "D", Value: "6"}})
			},
			want: env("A", "1", "B", "5", "C", "3", "D", "6"),
		},
		"all occurrences of an argument are removed": {
			start: corev1.Container{Args: []string{"-a", "-b", "-a"}},
			edit:  func(e *editors.ContainerEditor) { e.RemoveArgs([]string{"-a", "-c"}) },
			want:  corev1.Container{Args: []string{"-b"}},
		},
		"a port is identified by its name, or else by number and protocol": {
			start: corev1.Container{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}, metrics, dns}},
			edit:  func(e *editors.ContainerEditor) { e.EnsurePort(web); e.EnsurePort(dns); e.EnsurePort(dnsTCP) },
			want:  corev1.Container{Ports: []corev1.ContainerPort{web, metrics, dns, dnsTCP}},
		},
		"a mount is identified by its path": {
			start: corev1.Container{VolumeMounts: []corev1.VolumeMount{{MountPath: "/a", Name: "x"}, {MountPath: "/b", Name: "x"}}},
			edit: func(e *editors.ContainerEditor) {
				e.EnsureVolumeMount(corev1.VolumeMount{MountPath: "/a", Name: "y"})
				e.RemoveVolumeMount("/b")
			},
			want: corev1.Container{VolumeMounts: []corev1.VolumeMount{{MountPath: "/a", Name: "y"}}},
		},
	})
}

func TestPodSpecEditor(t *testing.T) {
	t.Parallel()
	keep, drop := corev1.Toleration{Key: "keep"}, corev1.Toleration{Key: "drop"}
	check(t, editors.NewPodSpecEditor, map[string]row[corev1.PodSpec, *editors.PodSpecEditor]{
		"items with identities": {
			start: corev1.PodSpec{
				Volumes: []corev1.Volume{{Name: "a"}, {Name: "b"}}, Tolerations: []corev1.Toleration{drop, keep},
				NodeSelector: map[string]string{"a": "1", "b": "1"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "a"}},
			},
			edit: func(e *editors.PodSpecEditor) {
				e.EnsureVolume(corev1.Volume{Name: "c"})
				e.RemoveVolume("a")
				e.EnsureToleration(keep)
				e.RemoveTolerations(nil)
				e.RemoveTolerations(func(toleration corev1.Toleration) bool { return toleration.Key == "drop" })
				e.EnsureNodeSelector("a", "2")
				e.RemoveNodeSelector("b")
				e.EnsureImagePullSecret("b")
				e.RemoveImagePullSecret("a")
			},
			want: corev1.PodSpec{
				Volumes: []corev1.Volume{{Name: "b"}, {Name: "c"}}, Tolerations: []corev1.Toleration{keep},
				NodeSelector: map[string]string{"a": "2"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "b"}},
			},
		},
	})
}

func TestIngressSpecEditor(t *testing.T) {
	t.Parallel()
	tls := func(secret string, hosts ...string) networkingv1.IngressTLS {
		return networkingv1.IngressTLS{SecretName: secret, Hosts: hosts}
	}
	check(t, editors.NewIngressSpecEditor, map[string]row[networkingv1.IngressSpec, *editors.IngressSpecEditor]{
		"TLS is identified by the first host": {
			start: networkingv1.IngressSpec{TLS: []networkingv1.IngressTLS{tls("x", "a", "b"), tls("y", "b"), tls("z")}},
			edit: func(e *editors.IngressSpecEditor) {
				e.EnsureTLS(tls("v", "a"))
				e.EnsureTLS(tls("ignored"))
				e.RemoveTLS("b")
			},
			want: networkingv1.IngressSpec{TLS: []networkingv1.IngressTLS{tls("v", "a"), tls("z")}},
		},
	})
}

func TestHPASpecEditor(t *testing.T) {
	t.Parallel()
	target := func(utilization int32) autoscalingv2.MetricTarget {
		return autoscalingv2.MetricTarget{AverageUtilization: &utilization}
	}
	resource := func(name corev1.ResourceName, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: target(utilization)}}
	}
	pods := func(utilization int32, values ...string) autoscalingv2.MetricSpec {
		selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "rps", Selector: selector}, Target: target(utilization),
		}}
	}
	metrics := func(metrics ...autoscalingv2.MetricSpec) autoscalingv2.HorizontalPodAutoscalerSpec {
		return autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: metrics}
	}
	check(t, editors.NewHPASpecEditor, map[string]row[autoscalingv2.HorizontalPodAutoscalerSpec, *editors.HPASpecEditor]{
		"metrics are identified by name and selector": {
			start: metrics(resource("cpu", 1), pods(1, "1", "2")),
			edit: func(e *editors.HPASpecEditor) {
				e.EnsureMetric(resource("cpu", 2))
				e.EnsureMetric(pods(2, "2", "1"))
				e.EnsureMetric(pods(2, "3"))
			},
			want: metrics(resource("cpu", 2), pods(2, "2", "1"), pods(2, "3")),
		},
	})
}

func TestRBACEditors(t *testing.T) {
	t.Parallel()
	rule := func(verbs ...string) rbacv1.PolicyRule { return rbacv1.PolicyRule{Verbs: verbs} }
	check(t, editors.NewPolicyRulesEditor, map[string]row[[]rbacv1.PolicyRule, *editors.PolicyRulesEditor]{
		"a rule with the same content is there once": {
			start: []rbacv1.PolicyRule{rule("get"), rule("list"), rule("get")},
			edit: func(e *editors.PolicyRulesEditor) {
				e.EnsureRule(rule("get"))
				e.RemoveRuleByIndex(7)
				e.RemoveRuleByIndex(-1)
			},
			want: []rbacv1.PolicyRule{rule("get"), rule("list")},
		},
	})
	account := func(name, namespace string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Name: name, Namespace: namespace}
	}
	user := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "a"}
	check(t, editors.NewBindingSubjectsEditor, map[string]row[[]rbacv1.Subject, *editors.BindingSubjectsEditor]{
		"kind, name and namespace identify a subject, and the API group does not": {
			start: []rbacv1.Subject{{Kind: "User", Name: "a"}, account("a", "x"), account("b", "x")},
			edit: func(e *editors.BindingSubjectsEditor) {
				e.EnsureSubject(user)
				e.EnsureServiceAccount("a", "y")
				e.RemoveServiceAccount("b", "x")
			},
			want: []rbacv1.Subject{user, account("a", "x"), account("a", "y")},
		},
	})
}

func TestSecretDataEditor(t *testing.T) {
	t.Parallel()
	check(t, editors.NewSecretDataEditor, map[string]row[corev1.Secret, *editors.SecretDataEditor]{
		"a key is in one field only": {
			start: corev1.Secret{Data: map[string][]byte{"a": {1}}, StringData: map[string]string{"b": "1"}},
			edit:  func(e *editors.SecretDataEditor) { e.SetString("a", "2"); e.Set("b", nil) },
			want:  corev1.Secret{Data: map[string][]byte{"b": {}}, StringData: map[string]string{"a": "2"}},
		},
	})
}
