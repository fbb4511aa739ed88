// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package grading

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why    string
		status concepts.Converging
		want   concepts.GraceStatus
	}{
		{"it works", concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "because"}, concepts.GraceStatusHealthy},
		{"it may work in part", concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "because"}, concepts.GraceStatusDegraded},
		{"it will not work", concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusFailing, Reason: "because"}, concepts.GraceStatusDown},
		{"it runs", concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "because"}, concepts.GraceStatusHealthy},
		{"it has failed", concepts.CompletionStatusWithReason{Status: concepts.CompletionStatusFailing, Reason: "because"}, concepts.GraceStatusDown},
	} {
		got, err := Of(row.status, nil)
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
		if diff := cmp.Diff(concepts.GraceStatusWithReason{Status: row.want, Reason: "because"}, got); diff != "" {
			t.Errorf("%s: unexpected grade (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestOfPassesErrorsOn(t *testing.T) {
	t.Parallel()
	failure := errors.New("no status")
	if _, err := Of(concepts.AliveStatusWithReason{}, failure); !errors.Is(err, failure) {
		t.Errorf("unexpected error %v", err)
	}
}
