// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

// Grade says how well an object does its job at the moment. This is not whether the object is as its spec asks: a
// Deployment that is being updated may be healthy although it is not ready, and an autoscaler that lacks metrics is
// degraded although it is.
type Grade string

const (
	// GradeHealthy means that the object does its job.
	GradeHealthy Grade = "Healthy"
	// GradeDegraded means that the object does its job in part.
	GradeDegraded Grade = "Degraded"
	// GradeDown means that the object does not do its job.
	GradeDown Grade = "Down"
)

// Health returns the grade of the object. If the judge has given none, it follows from the status: Healthy for
// CurrentStatus and Down for FailedStatus. It is empty for other statuses, because they do not tell.
func (r Result) Health() Grade {
	switch {
	case r.Grade != "":
		return r.Grade
	case r.Status == CurrentStatus:
		return GradeHealthy
	case r.Status == FailedStatus:
		return GradeDown
	default:
		return ""
	}
}

// graded completes a result by the grade of a workload: the part of the desired pods that is ready.
func (v view) graded(result Result) Result {
	var ready, desired int64
	switch v.kind.String() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController":
		ready, desired = v.number(0, "status", "readyReplicas"), v.number(1, "spec", "replicas")
	case "DaemonSet.apps":
		ready, desired = v.number(0, "status", "numberReady"), v.number(0, "status", "desiredNumberScheduled")
	default:
		return result
	}
	switch {
	case ready >= desired:
		result.Grade = GradeHealthy
	case ready > 0:
		result.Grade = GradeDegraded
	default:
		result.Grade = GradeDown
	}
	return result
}
