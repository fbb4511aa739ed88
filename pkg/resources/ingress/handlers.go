// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns Operational, because not every Ingress controller reports an address.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, ingress *networkingv1.Ingress) (concepts.OperationalStatusWithReason, error) {
	return generic.Applied(op, ingress)
}

// AddressConvergingStatusHandler applies if the builder called AwaitAddress. It returns OperationPending until the
// Ingress has an address, and then Operational.
func AddressConvergingStatusHandler(_ concepts.ConvergingOperation, ingress *networkingv1.Ingress) (concepts.OperationalStatusWithReason, error) {
	return handlers.AddressStatus(ingress.Status.LoadBalancer.Ingress, func(point networkingv1.IngressLoadBalancerIngress) (ip, hostname string) {
		return point.IP, point.Hostname
	}), nil
}
