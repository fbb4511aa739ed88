// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// at returns an Ingress with the points through which its load balancer can be reached.
func at(points ...networkingv1.IngressLoadBalancerIngress) *networkingv1.Ingress {
	return &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: points}}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	type state = resourcestest.State[*networkingv1.Ingress, concepts.OperationalStatusWithReason]
	applied, working := resourcestest.Operational(concepts.OperationalStatusOperational, "applied"), resourcestest.Grace(concepts.GraceStatusHealthy, "applied")
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{{Why: "not every controller reports an address", Object: at(), Status: applied, Grace: working}})

	const missing, found = "Waiting for the address of the load balancer", "The load balancer has an address"
	waiting, degraded := resourcestest.Operational(concepts.OperationalStatusPending, missing), resourcestest.Grace(concepts.GraceStatusDegraded, missing)
	reachable, healthy := resourcestest.Operational(concepts.OperationalStatusOperational, found), resourcestest.Grace(concepts.GraceStatusHealthy, found)
	resourcestest.CheckStates(t, NewBuilder(sample()).AwaitAddress(), []state{
		{Why: "there is no address yet", Object: at(), Status: waiting, Grace: degraded},
		{Why: "the address is empty", Object: at(networkingv1.IngressLoadBalancerIngress{}), Status: waiting, Grace: degraded},
		{Why: "there is an IP", Object: at(networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.1"}), Status: reachable, Grace: healthy},
		{Why: "there is a hostname", Object: at(networkingv1.IngressLoadBalancerIngress{Hostname: "lb.example.com"}), Status: reachable, Grace: healthy},
	})
	resourcestest.CheckNoSuspension(t, NewBuilder(sample()))
	handled := NewBuilder(sample()).WithCustomSuspendMutation(DefaultSuspendMutationHandler).WithCustomSuspendStatus(DefaultSuspensionStatusHandler)
	resourcestest.CheckSuspension(t, handled.WithCustomSuspendDeletionDecision(DefaultDeleteOnSuspendHandler), resourcestest.Suspension[*networkingv1.Ingress]{
		States: []resourcestest.SuspensionState[*networkingv1.Ingress]{{Object: sample(), Want: resourcestest.Suspended("")}},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("ingress spec", m.EditIngressSpec))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "networking.k8s.io/v1/Ingress/default/sample")
}
