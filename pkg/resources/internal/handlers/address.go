// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"slices"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// AddressStatus returns Operational if one of the points through which a load balancer can be reached has an address,
// and OperationPending otherwise. The function returns the two forms that an address can have.
func AddressStatus[P any](points []P, of func(P) (ip, hostname string)) concepts.OperationalStatusWithReason {
	assigned := slices.ContainsFunc(points, func(point P) bool {
		ip, hostname := of(point)
		return ip != "" || hostname != ""
	})
	if !assigned {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for the address of the load balancer"}
	}
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "The load balancer has an address"}
}
