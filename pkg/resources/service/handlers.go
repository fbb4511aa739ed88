// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/generic"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns OperationPending for a Service of type LoadBalancer that has neither an
// address nor external IPs, and Operational otherwise: other Services work as soon as they exist.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, service *corev1.Service) (concepts.OperationalStatusWithReason, error) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Spec.ExternalIPs) > 0 {
		return generic.Applied(op, service)
	}
	return handlers.AddressStatus(service.Status.LoadBalancer.Ingress, func(point corev1.LoadBalancerIngress) (ip, hostname string) {
		return point.IP, point.Hostname
	}), nil
}
