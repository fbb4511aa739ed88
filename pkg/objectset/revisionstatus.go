// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"cmp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// verdict is a condition without its type.
type verdict struct {
	holds           bool
	reason, message string
}

// Report returns the status of the deployment. The errors are those of [revisions.Decide], and of a write; nil if there
// are none.
func (r revisions) Report(refusal, failure error) v1alpha1.DeploymentStatus {
	status := *r.deployment.GetDeploymentStatus().DeepCopy()
	status.ObservedGeneration = r.deployment.GetGeneration()
	status.SetName = ""
	if current := r.Current(); current != nil {
		status.Revision, status.SetName = max(lastRevision(r.deployment), current.GetSetSpec().Revision), current.GetName()
	}
	set := func(name string, v verdict) {
		value := metav1.ConditionFalse
		if v.holds {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: name, Status: value, Reason: v.reason, Message: v.message, ObservedGeneration: status.ObservedGeneration})
	}
	available, progressing := r.available(), r.progressing(refusal, failure)
	set(v1alpha1.DeploymentAvailable, available)
	set(v1alpha1.DeploymentProgressing, progressing)
	ready, stalled := progressing, progressing
	if ready.holds = progressing.reason == v1alpha1.ReasonIdle; ready.holds {
		ready = available
	}
	stalled.holds = slices.Contains(stalls, progressing.reason)
	set(v1alpha1.DeploymentReady, ready)
	set(v1alpha1.DeploymentStalled, stalled)
	if paused := r.paused(); paused.holds {
		set(v1alpha1.DeploymentPaused, paused)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.DeploymentPaused)
	}
	return status
}

// stalls are the reasons of Progressing that need a user.
var stalls = []string{
	v1alpha1.ReasonProgressDeadlineExceeded, v1alpha1.ReasonCollisionDetected, v1alpha1.ReasonPreflightError, v1alpha1.ReasonRollbackRefused, v1alpha1.ReasonWriteRefused,
}

// available returns the condition Available.
func (r revisions) available() verdict {
	current := r.Current()
	switch {
	case current == nil:
		return verdict{reason: v1alpha1.ReasonSetUnavailable, message: "There is no set yet"}
	case r.isCurrent && isAvailable(current):
		return verdict{holds: true, reason: v1alpha1.ReasonAvailable, message: about(current, v1alpha1.ConditionTypeAvailable)}
	}
	for _, set := range r.own {
		if !isArchived(set) && isAvailable(set) {
			message := "Set " + set.GetName() + " is available"
			if set != current {
				message += ". " + about(current, v1alpha1.ConditionTypeAvailable)
			}
			return verdict{holds: true, reason: v1alpha1.ReasonPreviousAvailable, message: message}
		}
	}
	return verdict{reason: v1alpha1.ReasonSetUnavailable, message: about(current, v1alpha1.ConditionTypeAvailable)}
}

// progressing returns the condition Progressing.
func (r revisions) progressing(refusal, failure error) verdict {
	current := r.Current()
	switch {
	case isRefused(failure):
		return verdict{reason: v1alpha1.ReasonWriteRefused, message: texts.Text(failure.Error())}
	case failure != nil:
		return verdict{holds: true, reason: v1alpha1.ReasonRetrying, message: texts.Text(failure.Error())}
	case r.deployment.GetDeletionTimestamp() != nil:
		return verdict{holds: true, reason: v1alpha1.ReasonDeleting, message: r.deleting()}
	case r.deployment.GetDeploymentSpec().Paused:
		return verdict{reason: v1alpha1.ReasonPaused, message: r.paused().message}
	case refusal != nil:
		message := refusal.Error()
		if current != nil {
			message += ". " + about(current, v1alpha1.ConditionTypeProgressing)
		}
		if r.deployment.GetDeploymentSpec().RollbackTo == nil {
			return verdict{reason: v1alpha1.ReasonPreflightError, message: message}
		}
		return verdict{reason: v1alpha1.ReasonRollbackRefused, message: message}
	case !r.isCurrent:
		return verdict{holds: true, reason: v1alpha1.ReasonRollingOut, message: "A set for the changed template is created"}
	}
	rollout := condition(current, v1alpha1.ConditionTypeProgressing)
	switch {
	case rollout.Status == component.ConditionFalse && slices.Contains(stalls, rollout.Reason):
		return verdict{reason: rollout.Reason, message: about(current, v1alpha1.ConditionTypeProgressing)}
	case !isAvailable(current):
		return verdict{holds: true, reason: v1alpha1.ReasonRollingOut, message: about(current, v1alpha1.ConditionTypeAvailable)}
	case !everSucceeded(current):
		return verdict{holds: true, reason: v1alpha1.ReasonPendingSuccess, message: "Set " + current.GetName() + " is available, and has not succeeded yet"}
	}
	for _, set := range r.own[1:] {
		if !isOver(set) {
			_, _, message := set.GetStatus().GetState()
			return verdict{holds: true, reason: v1alpha1.ReasonArchiving, message: "Set " + set.GetName() + ": " + message}
		}
	}
	return verdict{reason: v1alpha1.ReasonIdle, message: about(current, v1alpha1.ConditionTypeAvailable)}
}

// paused returns the condition Paused.
func (r revisions) paused() verdict {
	message := "No set is created, changed or deleted"
	if !r.isCurrent {
		message += ", although the template has changed"
	}
	if current := r.Current(); current != nil && isPaused(current) {
		message += ". " + about(current, v1alpha1.ConditionTypePaused)
	}
	if waits := names(r.own, func(set v1alpha1.Set) bool { return !isOver(set) && !isPaused(set) }); waits != "" {
		message = "Not paused yet, or still being archived: " + waits
	}
	return verdict{holds: r.deployment.GetDeploymentSpec().Paused && r.deployment.GetDeletionTimestamp() == nil, reason: v1alpha1.ReasonPaused, message: message}
}

// deleting says what is awaited before the deployment is gone.
func (r revisions) deleting() string {
	for _, set := range slices.Backward(r.own) {
		if set.GetDeletionTimestamp() != nil {
			_, _, message := set.GetStatus().GetState()
			return "Set " + set.GetName() + " is being deleted: " + message
		}
	}
	return "Sets are being deleted"
}

// about says what a condition of a set says.
func about(set v1alpha1.Set, name component.ConditionType) string {
	found, _ := set.GetStatus().GetCondition(name)
	return "Set " + set.GetName() + ": " + cmp.Or(found.Message, "has not been looked at yet")
}

// names returns the names of the sets of which something is true.
func names(sets []v1alpha1.Set, holds func(v1alpha1.Set) bool) string {
	var found []string
	for _, set := range sets {
		if holds(set) {
			found = append(found, set.GetName())
		}
	}
	return strings.Join(found, ", ")
}

// isRefused reports whether the API server refuses a write, so that repeating it is of no use until something changes.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}
