// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type serviceRows = map[string]row[corev1.ServiceSpec, *editors.ServiceSpecEditor]

func TestServiceSpecEditorSets(t *testing.T) {
	t.Parallel()
	config := &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(1))}}
	check(t, editors.NewServiceSpecEditor, serviceRows{
		"each method sets its own field": {
			start: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "None"},
			edit: func(e *editors.ServiceSpecEditor) {
				e.SetType(corev1.ServiceTypeLoadBalancer)
				e.SetSelector(map[string]string{"a": "1"})
				e.SetSessionAffinity(corev1.ServiceAffinityClientIP)
				e.SetSessionAffinityConfig(config)
				e.SetPublishNotReadyAddresses(true)
				e.SetExternalTrafficPolicy(corev1.ServiceExternalTrafficPolicyLocal)
				e.SetInternalTrafficPolicy(corev1.ServiceInternalTrafficPolicyCluster)
				e.SetLoadBalancerSourceRanges([]string{"10.0.0.0/8"})
				e.SetExternalName("example.io")
				e.Raw().ClusterIP = ""
			},
			want: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"a": "1"}, SessionAffinity: corev1.ServiceAffinityClientIP,
				SessionAffinityConfig: config, PublishNotReadyAddresses: true, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
				InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster), LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, ExternalName: "example.io",
			},
		},
		"nil clears fields": {
			start: corev1.ServiceSpec{Selector: map[string]string{"a": "1"}, SessionAffinityConfig: config, LoadBalancerSourceRanges: []string{"10.0.0.0/8"}},
			edit: func(e *editors.ServiceSpecEditor) {
				e.SetSelector(nil)
				e.SetSessionAffinityConfig(nil)
				e.SetLoadBalancerSourceRanges(nil)
			},
		},
		"a selector is replaced as a whole": {
			start: corev1.ServiceSpec{Selector: map[string]string{"a": "1", "b": "1"}},
			edit:  func(e *editors.ServiceSpecEditor) { e.SetSelector(map[string]string{"b": "2"}) },
			want:  corev1.ServiceSpec{Selector: map[string]string{"b": "2"}},
		},
		"one label is set without a map": {
			edit: func(e *editors.ServiceSpecEditor) { e.EnsureSelector("a", "1") },
			want: corev1.ServiceSpec{Selector: map[string]string{"a": "1"}},
		},
		"one label is replaced, another one removed": {
			start: corev1.ServiceSpec{Selector: map[string]string{"a": "1", "b": "1", "c": "1"}},
			edit: func(e *editors.ServiceSpecEditor) {
				e.EnsureSelector("a", "2")
				e.RemoveSelector("b")
				e.RemoveSelector("d")
			},
			want: corev1.ServiceSpec{Selector: map[string]string{"a": "2", "c": "1"}},
		},
		"no label is removed from nothing": {edit: func(e *editors.ServiceSpecEditor) { e.RemoveSelector("a") }},
	})
}

func TestServiceSpecEditorPorts(t *testing.T) {
	t.Parallel()
	ports := func(ports ...corev1.ServicePort) corev1.ServiceSpec { return corev1.ServiceSpec{Ports: ports} }
	ensure := func(port corev1.ServicePort) func(*editors.ServiceSpecEditor) {
		return func(e *editors.ServiceSpecEditor) { e.EnsurePort(port) }
	}
	web, metrics := corev1.ServicePort{Name: "web", Port: 80, TargetPort: intstr.FromString("web")}, corev1.ServicePort{Name: "metrics", Port: 9090}
	check(t, editors.NewServiceSpecEditor, serviceRows{
		"a port is added to none":              {edit: ensure(web), want: ports(web)},
		"a port with another name is appended": {start: ports(web), edit: ensure(metrics), want: ports(web, metrics)},
		"a port with the name is replaced, and duplicates go": {
			start: ports(corev1.ServicePort{Name: "web", Port: 8080}, metrics, corev1.ServicePort{Name: "web", Port: 81}),
			edit:  ensure(web), want: ports(web, metrics),
		},
		"without a name, no protocol is TCP": {
			start: ports(corev1.ServicePort{Port: 80}),
			edit:  ensure(corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}),
			want:  ports(corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}),
		},
		"without a name, another protocol is another port": {
			start: ports(corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}),
			edit:  ensure(corev1.ServicePort{Port: 53}),
			want:  ports(corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}, corev1.ServicePort{Port: 53}),
		},
		"without a name, another number is another port": {
			start: ports(corev1.ServicePort{Port: 53}), edit: ensure(corev1.ServicePort{Port: 54}),
			want: ports(corev1.ServicePort{Port: 53}, corev1.ServicePort{Port: 54}),
		},
		"ports are removed by name": {
			start: ports(web, metrics), edit: func(e *editors.ServiceSpecEditor) { e.RemovePort("web"); e.RemovePort("x") }, want: ports(metrics),
		},
		"the empty name means ports without a name": {
			start: ports(corev1.ServicePort{Port: 1}, web), edit: func(e *editors.ServiceSpecEditor) { e.RemovePort("") }, want: ports(web),
		},
	})
}

func TestNetworkPolicySpecEditor(t *testing.T) {
	t.Parallel()
	in := func(port int32) networkingv1.NetworkPolicyIngressRule {
		return networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(port))}}}
	}
	out := func(port int32) networkingv1.NetworkPolicyEgressRule {
		return networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(port))}}}
	}
	type spec = networkingv1.NetworkPolicySpec
	check(t, editors.NewNetworkPolicySpecEditor, map[string]row[spec, *editors.NetworkPolicySpecEditor]{
		"each method sets its own field": {
			start: spec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"b": "1"}}, Ingress: []networkingv1.NetworkPolicyIngressRule{in(1)}},
			edit: func(e *editors.NetworkPolicySpecEditor) {
				e.SetPodSelector(metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}})
				e.SetPolicyTypes([]networkingv1.PolicyType{networkingv1.PolicyTypeEgress})
				e.Raw().Ingress = nil
			},
			want: spec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
		},
		"nil clears the types": {
			start: spec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
			edit:  func(e *editors.NetworkPolicySpecEditor) { e.SetPolicyTypes(nil) },
		},
		"rules are appended, also equal ones": {
			start: spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1)}},
			edit: func(e *editors.NetworkPolicySpecEditor) {
				e.AppendIngressRule(in(1))
				e.AppendEgressRule(out(2))
				e.AppendEgressRule(out(2))
			},
			want: spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1), in(1)}, Egress: []networkingv1.NetworkPolicyEgressRule{out(2), out(2)}},
			once: true,
		},
		"a rule with the same content is there once": {
			start: spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1), in(2), in(1)}},
			edit: func(e *editors.NetworkPolicySpecEditor) {
				e.EnsureIngressRule(in(1))
				e.EnsureIngressRule(in(3))
				e.EnsureEgressRule(out(1))
				e.EnsureEgressRule(out(2))
			},
			want: spec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{in(1), in(2), in(3)}, Egress: []networkingv1.NetworkPolicyEgressRule{out(1), out(2)},
			},
		},
		"the rules of one direction are removed": {
			start: spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1)}, Egress: []networkingv1.NetworkPolicyEgressRule{out(1)}},
			edit:  func(e *editors.NetworkPolicySpecEditor) { e.RemoveIngressRules() },
			want:  spec{Egress: []networkingv1.NetworkPolicyEgressRule{out(1)}},
		},
		"the rules of the other direction are removed": {
			start: spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1)}, Egress: []networkingv1.NetworkPolicyEgressRule{out(1)}},
			edit:  func(e *editors.NetworkPolicySpecEditor) { e.RemoveEgressRules() },
			want:  spec{Ingress: []networkingv1.NetworkPolicyIngressRule{in(1)}},
		},
	})
}
