// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// verdict is a condition without its type.
type verdict struct {
	holds           bool
	reason, message string
}

// Report returns the status of the deployment. refusal is the error of [revisions.Decide], failure that of the writes;
// both may be nil.
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

// stalls are the reasons of Progressing that require an action of a user.
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
	var waits []string
	for _, set := range r.own {
		if !isOver(set) && !isPaused(set) {
			waits = append(waits, set.GetName())
		}
	}
	if len(waits) > 0 {
		message = "Not paused yet, or still being archived: " + strings.Join(waits, ", ")
	}
	return verdict{holds: r.deployment.GetDeploymentSpec().Paused && r.deployment.GetDeletionTimestamp() == nil, reason: v1alpha1.ReasonPaused, message: message}
}

// deleting names the set that the deletion of the deployment waits for.
func (r revisions) deleting() string {
	for _, set := range slices.Backward(r.own) {
		if set.GetDeletionTimestamp() != nil {
			_, _, message := set.GetStatus().GetState()
			return "Set " + set.GetName() + " is being deleted: " + message
		}
	}
	return "Sets are being deleted"
}

// about returns the message of a condition of a set.
func about(set v1alpha1.Set, name component.ConditionType) string {
	found, _ := set.GetStatus().GetCondition(name)
	return "Set " + set.GetName() + ": " + cmp.Or(found.Message, "has not been looked at yet")
}

// isRefused reports whether the API server has refused a write, so that a repetition is useless until something
// changes.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// messageLimit is the maximum length of a condition's message in the CustomResourceDefinition, in bytes.
const messageLimit = 32768

// errOutdated means that the cache does not have the last write of the status yet.
var errOutdated = errors.New("the cache is outdated")

// report writes the status, if it has changed and the deployment is still in the state that was read, and emits events
// about the change.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		condition.Message = texts.Truncate(condition.Message, messageLimit)
		// Stored times have no fractions of seconds.
		condition.LastTransitionTime = condition.LastTransitionTime.Rfc3339Copy()
	}
	name, version := client.ObjectKeyFromObject(deployment), deployment.GetResourceVersion()
	if before, found := d.reported.Load(name); found && before == version {
		return errOutdated
	}
	if equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), &status) {
		return nil
	}
	changed, err := changedCopy(deployment, func(changed v1alpha1.Deployment) { *changed.GetDeploymentStatus() = status })
	if err != nil {
		return err
	}
	if err := d.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(deployment, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	if changed.GetResourceVersion() != version {
		d.reported.Store(name, version)
	}
	d.announce(deployment, deployment.GetDeploymentStatus().Conditions, status.Conditions)
	return nil
}

// inRollout are the reasons of Progressing while a rollout goes on.
var inRollout = []string{v1alpha1.ReasonRollingOut, v1alpha1.ReasonPendingSuccess, v1alpha1.ReasonArchiving}

// announce emits an event when a rollout stalls for a new reason, and when it is complete.
func (d deployments) announce(deployment v1alpha1.Deployment, before, now []metav1.Condition) {
	const eventLimit = 1024 // of the API server
	emit := func(eventType string, condition *metav1.Condition) {
		d.events.Eventf(deployment, nil, eventType, condition.Reason, "RollOut", "%s", texts.Truncate(condition.Message, eventLimit))
	}
	if stalled := meta.FindStatusCondition(now, v1alpha1.DeploymentStalled); stalled.Status == metav1.ConditionTrue {
		old := meta.FindStatusCondition(before, v1alpha1.DeploymentStalled)
		if old == nil || old.Status != stalled.Status || old.Reason != stalled.Reason || old.Message != stalled.Message {
			emit(corev1.EventTypeWarning, stalled)
		}
	}
	progressed := meta.FindStatusCondition(before, v1alpha1.DeploymentProgressing)
	if ready := meta.FindStatusCondition(now, v1alpha1.DeploymentReady); ready.Status == metav1.ConditionTrue && progressed != nil && slices.Contains(inRollout, progressed.Reason) {
		emit(corev1.EventTypeNormal, ready)
	}
}
