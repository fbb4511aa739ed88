// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// of returns a Service of a type, with the points through which a load balancer can be reached.
func of(kind corev1.ServiceType, points ...corev1.LoadBalancerIngress) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: points}}}
}

type state = resourcestest.State[*corev1.Service, concepts.OperationalStatusWithReason]

// row returns a row whose reasons are equal.
func row(why string, service *corev1.Service, status concepts.OperationalStatus, grace concepts.GraceStatus, reason string) state {
	return state{Why: why, Object: service, Status: resourcestest.Operational(status, reason), Grace: resourcestest.Grace(grace, reason)}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	const works, waits, healthy, degraded = concepts.OperationalStatusOperational, concepts.OperationalStatusPending, concepts.GraceStatusHealthy, concepts.GraceStatusDegraded
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{
		row("the default type has no load balancer", of(""), works, healthy, "applied"),
		row("a service within the cluster has no load balancer", of(corev1.ServiceTypeClusterIP), works, healthy, "applied"),
		row("a service on all nodes has no load balancer", of(corev1.ServiceTypeNodePort), works, healthy, "applied"),
		row("an alias has no load balancer", of(corev1.ServiceTypeExternalName), works, healthy, "applied"),
		row("there is no address yet", of(corev1.ServiceTypeLoadBalancer), waits, degraded, "Waiting for the address of the load balancer"),
		row("the address is empty", of(corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{}), waits, degraded, "Waiting for the address of the load balancer"),
		row("there is an IP", of(corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{IP: "192.0.2.1"}), works, healthy, "The load balancer has an address"),
		row("there is a hostname", of(corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{Hostname: "lb.example.com"}), works, healthy, "The load balancer has an address"),
	})
	external := of(corev1.ServiceTypeLoadBalancer)
	external.Spec.ExternalIPs = []string{"192.0.2.1"}
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{row("it has an IP from its manifest", external, works, healthy, "applied")})
	resourcestest.CheckNoSuspension(t, NewBuilder(sample()))
	handled := NewBuilder(sample()).WithCustomSuspendMutation(DefaultSuspendMutationHandler).WithCustomSuspendStatus(DefaultSuspensionStatusHandler)
	resourcestest.CheckSuspension(t, handled.WithCustomSuspendDeletionDecision(DefaultDeleteOnSuspendHandler), resourcestest.Suspension[*corev1.Service]{
		States: []resourcestest.SuspensionState[*corev1.Service]{{Object: sample(), Want: resourcestest.Suspended("")}},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("service spec", m.EditServiceSpec))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/Service/default/sample")
}
