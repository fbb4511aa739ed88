// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns an error if the status is none of the constants.
func (s AliveStatusWithReason) Check() error {
	return check("converging status", s.Status, AliveConvergingStatusHealthy, AliveConvergingStatusCreating, AliveConvergingStatusUpdating, AliveConvergingStatusScaling,
		AliveConvergingStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s CompletionStatusWithReason) Check() error {
	return check("converging status", s.Status, CompletionStatusCompleted, CompletionStatusRunning, CompletionStatusPending, CompletionStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s OperationalStatusWithReason) Check() error {
	return check("converging status", s.Status, OperationalStatusOperational, OperationalStatusPending, OperationalStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s GraceStatusWithReason) Check() error {
	return check("grace status", s.Status, GraceStatusHealthy, GraceStatusDegraded, GraceStatusDown)
}

// Check returns an error if the status is none of the constants.
func (s SuspensionStatusWithReason) Check() error {
	return check("suspension status", s.Status, SuspensionStatusPending, SuspensionStatusSuspending, SuspensionStatusSuspended)
}

// Check returns an error if the status is none of the constants.
func (s GuardStatusWithReason) Check() error {
	return check("guard status", s.Status, GuardStatusBlocked, GuardStatusUnblocked)
}

func check[S ~string](what string, status S, allowed ...S) error {
	if slices.Contains(allowed, status) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return fmt.Errorf("%s: invalid value %q; must be one of: %s", what, status, strings.Join(names, ", "))
}
