// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

const (
	created, updated, none = concepts.ConvergingOperationCreated, concepts.ConvergingOperationUpdated, concepts.ConvergingOperationNone

	unobserved = "Waiting for deployment controller to observe latest spec"
)

func TestConverging(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why      string
		op       concepts.ConvergingOperation
		workload Workload
		status   concepts.AliveConvergingStatus
		reason   string
	}{
		{"a stale status says nothing", created, Workload{Generation: 2, Observed: 1, Desired: 1, Ready: 1}, concepts.AliveConvergingStatusCreating, unobserved},
		{"a stale status says nothing", updated, Workload{Generation: 2, Observed: 1, Desired: 1, Ready: 1}, concepts.AliveConvergingStatusUpdating, unobserved},
		{"a stale status means that the spec was changed", none, Workload{Generation: 2, Observed: 1, Desired: 1, Ready: 1}, concepts.AliveConvergingStatusUpdating, unobserved},
		{"a stale failure says nothing", none, Workload{Generation: 2, Observed: 1, Desired: 1, Failure: "broken"}, concepts.AliveConvergingStatusUpdating, unobserved},
		{"ready", created, Workload{Generation: 2, Observed: 2, Desired: 2, Ready: 2}, concepts.AliveConvergingStatusHealthy, "All replicas are ready"},
		{"ready in spite of a failure", none, Workload{Desired: 2, Ready: 2, Failure: "broken"}, concepts.AliveConvergingStatusHealthy, "All replicas are ready"},
		{"nothing is desired", none, Workload{}, concepts.AliveConvergingStatusHealthy, "All replicas are ready"},
		{"a failure", created, Workload{Desired: 2, Ready: 1, Failure: "broken"}, concepts.AliveConvergingStatusFailing, "broken"},
		{"a failure during a rollout", updated, Workload{Desired: 2, Ready: 2, Rollout: "1/2", Failure: "broken"}, concepts.AliveConvergingStatusFailing, "broken"},
		{"replicas are missing", created, Workload{Desired: 2, Ready: 1}, concepts.AliveConvergingStatusCreating, "Waiting for replicas: 1/2 ready"},
		{"replicas are missing", updated, Workload{Desired: 2, Ready: 1}, concepts.AliveConvergingStatusUpdating, "Waiting for replicas: 1/2 ready"},
		{"replicas are missing", none, Workload{Desired: 2, Ready: 1}, concepts.AliveConvergingStatusScaling, "Waiting for replicas: 1/2 ready"},
		{"missing replicas count more than a rollout", none, Workload{Desired: 2, Ready: 1, Rollout: "1/2"}, concepts.AliveConvergingStatusScaling, "Waiting for replicas: 1/2 ready"},
		{"a surplus", none, Workload{Desired: 2, Ready: 3}, concepts.AliveConvergingStatusScaling, "Waiting for replicas: 3/2 ready"},
		{"a rollout", created, Workload{Desired: 2, Ready: 2, Rollout: "1/2"}, concepts.AliveConvergingStatusCreating, "Waiting for rollout: 1/2"},
		{"a rollout", none, Workload{Desired: 2, Ready: 2, Rollout: "1/2"}, concepts.AliveConvergingStatusUpdating, "Waiting for rollout: 1/2"},
	} {
		row.workload.Kind = "Deployment"
		got := row.workload.Converging(row.op)
		if diff := cmp.Diff(concepts.AliveStatusWithReason{Status: row.status, Reason: row.reason}, got); diff != "" {
			t.Errorf("%s (%s): unexpected status (-want +got):\n%s", row.why, row.op, diff)
		}
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why      string
		workload Workload
		want     concepts.GraceStatusWithReason
	}{
		{"all are ready, whichever form they have", Workload{Desired: 2, Ready: 2, Rollout: "1/2"}, concepts.GraceStatusWithReason{Status: concepts.GraceStatusHealthy, Reason: "All replicas are ready"}},
		{"nothing is desired", Workload{}, concepts.GraceStatusWithReason{Status: concepts.GraceStatusHealthy, Reason: "All replicas are ready"}},
		{"some are ready", Workload{Desired: 2, Ready: 1}, concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded, Reason: "Deployment partially available"}},
		{"too many are ready", Workload{Desired: 2, Ready: 3}, concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded, Reason: "Deployment partially available"}},
		{"none is ready", Workload{Desired: 2}, concepts.GraceStatusWithReason{Status: concepts.GraceStatusDown, Reason: "No replicas are ready"}},
	} {
		row.workload.Kind = "Deployment"
		if diff := cmp.Diff(row.want, row.workload.Grace()); diff != "" {
			t.Errorf("%s: unexpected status (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestSuspension(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why      string
		workload Workload
		status   concepts.SuspensionStatus
		reason   string
	}{
		{"a stale status says nothing", Workload{Generation: 2, Observed: 1}, concepts.SuspensionStatusSuspending, unobserved},
		{"replicas are left", Workload{Current: 2}, concepts.SuspensionStatusSuspending, "Waiting for replicas to scale down, 2 replicas still running."},
		{"no replicas are left", Workload{Generation: 2, Observed: 2}, concepts.SuspensionStatusSuspended, "Deployment scaled to zero"},
	} {
		row.workload.Kind = "Deployment"
		if diff := cmp.Diff(concepts.SuspensionStatusWithReason{Status: row.status, Reason: row.reason}, row.workload.Suspension()); diff != "" {
			t.Errorf("%s: unexpected status (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestOrOne(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why      string
		declared *int32
		want     int32
	}{
		{"the default of the API server", nil, 1},
		{"zero is a number", new(int32(0)), 0},
		{"any number", new(int32(7)), 7},
	} {
		if got := OrOne(row.declared); got != row.want {
			t.Errorf("%s: got %d, want %d", row.why, got, row.want)
		}
	}
}
