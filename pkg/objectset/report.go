// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// reporting completes the status of a set.
type reporting struct {
	set        v1alpha1.Set
	conclusion component.Conclusion
	// total is the sum of all phases.
	total v1alpha1.PhaseStatus
}

// report completes the status of a set, and returns the delay until the status changes by itself; zero if it does not.
// It has no other effects.
func report(set v1alpha1.Set, conclusion component.Conclusion) time.Duration {
	r := reporting{set: set, conclusion: conclusion}
	r.countPhases()
	r.setLifecycle()
	r.setAvailable()
	r.setProgressing()
	r.setInTransition()
	return r.setSucceeded()
}

// countPhases sets status.phases.
func (r *reporting) countPhases() {
	spec := r.set.GetSetSpec()
	counts := make([]v1alpha1.PhaseStatus, len(spec.Phases))
	for i, phase := range spec.Phases {
		counts[i] = v1alpha1.PhaseStatus{Name: phase.Name, Objects: int32(len(phase.Objects))} //nolint:gosec // the definition limits the number of objects
	}
	changes := r.changes()
	for _, item := range r.conclusion.Inventory {
		if item.Digest != "" && item.ApplyOrder >= 0 && item.ApplyOrder < len(counts) {
			count(&counts[item.ApplyOrder], item, changes[types.IDOf(item)])
		}
	}
	for _, change := range changes {
		if r.isAvailableNow(change) && change.Wave >= 0 && change.Wave < len(counts) {
			counts[change.Wave].Available++
		}
	}
	r.set.GetSetStatus().Phases, r.total = counts, totalOf(counts)
}

// count counts a dependent of a phase. If the set is paused, the planned change has the current holder.
func count(phase *v1alpha1.PhaseStatus, item *reconciler.InventoryItem, change *reconciler.Change) {
	holder := item.Holder
	if change != nil {
		holder = change.Holder
	}
	switch {
	case holder != "":
		phase.Progressed++
	case item.LastAppliedAt != nil:
		phase.Applied++
	}
	if change == nil && isItemAvailable(item) {
		phase.Available++
	}
}

// isItemAvailable reports whether a dependent was available in the last pass. A completed one is available.
func isItemAvailable(item *reconciler.InventoryItem) bool {
	return item.Phase == reconciler.PhaseReady && item.Status == status.CurrentStatus || item.Phase == reconciler.PhaseCompleted
}

// changes returns the planned changes of the objects of a paused set; nil if it is not paused.
func (r *reporting) changes() map[types.ObjectID]*reconciler.Change {
	if r.conclusion.Plan == nil {
		return nil
	}
	changes := map[types.ObjectID]*reconciler.Change{}
	for i, change := range r.conclusion.Plan.Changes {
		if change.Digest != "" {
			changes[types.IDOf(change.Object)] = &r.conclusion.Plan.Changes[i]
		}
	}
	return changes
}

// isAvailableNow reports whether an object of a paused set is available. An object without a status that would not
// change is completed.
func (r *reporting) isAvailableNow(change *reconciler.Change) bool {
	return change.Refusal == "" && (change.Status == status.CurrentStatus || change.Status == "" && change.Verb == "" && change.Holder == "")
}

// condition sets a condition.
func (r *reporting) condition(name component.ConditionType, holds bool, reason, message string) {
	value := component.ConditionFalse
	if holds {
		value = component.ConditionTrue
	}
	r.set.GetStatus().SetCondition(name, value, reason, message, r.conclusion.Now)
}

func (r *reporting) isDeleting() bool { return r.set.GetDeletionTimestamp() != nil }

func (r *reporting) is(state v1alpha1.LifecycleState) bool {
	return !r.isDeleting() && r.set.GetSetSpec().LifecycleState == state
}

// setLifecycle sets the conditions Paused and Archived.
func (r *reporting) setLifecycle() {
	_, reason, message := r.set.GetStatus().GetState()
	switch {
	case r.is(v1alpha1.LifecycleStatePaused) && (reason == component.ReadyConditionReasonPaused || r.conclusion.Refusal != nil):
		r.condition(v1alpha1.ConditionTypePaused, true, v1alpha1.ReasonPaused, message)
	default:
		r.set.GetStatus().RemoveCondition(v1alpha1.ConditionTypePaused)
	}
	switch {
	case !r.is(v1alpha1.LifecycleStateArchived):
		r.set.GetStatus().RemoveCondition(v1alpha1.ConditionTypeArchived)
	case r.conclusion.Archived:
		r.condition(v1alpha1.ConditionTypeArchived, true, v1alpha1.ReasonArchived, message)
	default:
		r.condition(v1alpha1.ConditionTypeArchived, false, v1alpha1.ReasonArchivalInProgress, message)
	}
}

// setAvailable sets the condition Available.
func (r *reporting) setAvailable() {
	state, _, message := r.set.GetStatus().GetState()
	switch reason := r.refusal(); {
	case r.conclusion.Archived:
		r.set.GetStatus().RemoveCondition(v1alpha1.ConditionTypeAvailable)
	case r.isDeleting():
		r.condition(v1alpha1.ConditionTypeAvailable, false, v1alpha1.ReasonDeleting, message)
	case r.is(v1alpha1.LifecycleStateArchived):
		r.condition(v1alpha1.ConditionTypeAvailable, false, v1alpha1.ReasonArchivalInProgress, message)
	case state == component.StateReady, r.conclusion.Plan != nil && r.total.Available == r.total.Objects:
		r.condition(v1alpha1.ConditionTypeAvailable, true, v1alpha1.ReasonAvailable, r.summary())
	case reason != "":
		r.condition(v1alpha1.ConditionTypeAvailable, false, reason, r.conclusion.Refusal.Error())
	case r.conclusion.Plan != nil:
		reason, message := r.unavailable()
		r.condition(v1alpha1.ConditionTypeAvailable, false, reason, message)
	case r.conclusion.Err == nil && r.conclusion.Result != nil:
		r.condition(v1alpha1.ConditionTypeAvailable, false, cmp.Or(r.blocked(), v1alpha1.ReasonProbeFailure), cmp.Or(r.waits(), message))
	case state == component.StatePending:
		// The pass waits for something before it checks the objects.
		r.set.GetStatus().SetCondition(v1alpha1.ConditionTypeAvailable, component.ConditionUnknown, v1alpha1.ReasonProbeFailure, message, r.conclusion.Now)
	default:
		// The pass has failed before it checked the objects, or all of them, so their state is unknown.
		if _, exists := r.set.GetStatus().GetCondition(v1alpha1.ConditionTypeAvailable); !exists {
			r.condition(v1alpha1.ConditionTypeAvailable, false, v1alpha1.ReasonProbeFailure, message)
		}
	}
}

// refusal returns the reason for which the set, or one of its objects, is refused; empty if none is.
func (r *reporting) refusal() string {
	switch refused := r.conclusion.Refusal; {
	case refused == nil:
		return ""
	case refused.Foreign:
		return v1alpha1.ReasonCollisionDetected
	default:
		return v1alpha1.ReasonPreflightError
	}
}

// blocked returns the reason if the type of an object is not served; empty if the pass does not wait for that.
func (r *reporting) blocked() string {
	isBlocked := func(notice reconciler.Notice) bool { return notice.Reason == inventory.NoticeReasonBlocked }
	if r.conclusion.Result != nil && slices.ContainsFunc(r.conclusion.Result.Waits, isBlocked) {
		return v1alpha1.ReasonPreflightError
	}
	return ""
}

// summary returns the number of available objects as text.
func (r *reporting) summary() string {
	return fmt.Sprintf("%d of %d objects in %d phases are available", r.total.Available, r.total.Objects, len(r.set.GetSetSpec().Phases))
}

// waits names the objects that the pass waits for, with their messages; empty if it has ended for another reason.
func (r *reporting) waits() string {
	result := r.conclusion.Result
	switch {
	case r.conclusion.Err != nil || result == nil:
		return ""
	case len(result.Waits) > 0:
		return r.inPhase(result.Wave, result.Waits)
	case len(result.Failures) > 0:
		return r.inPhase(result.Wave, result.Failures)
	default:
		return ""
	}
}

// inPhase names a phase, and the problems of its objects.
func (r *reporting) inPhase(order int, notices []reconciler.Notice) string {
	texts := make([]string, len(notices))
	for i, notice := range notices {
		texts[i] = types.IDOf(notice.Object).String() + ": " + notice.Message
	}
	return phaseOf(r.set, order) + ": " + strings.Join(texts, "; ")
}

// unavailable names the first phase of a paused set with objects that are not available, and the reason.
func (r *reporting) unavailable() (reason, message string) {
	reason = v1alpha1.ReasonProbeFailure
	var notices []reconciler.Notice
	var order int
	for _, change := range r.conclusion.Plan.Changes {
		if change.Digest == "" || r.isAvailableNow(&change) || len(notices) > 0 && change.Wave != order {
			continue
		}
		order = change.Wave
		if change.Refusal != "" && change.Foreign {
			reason = v1alpha1.ReasonCollisionDetected
		}
		notices = append(notices, reconciler.Notice{Object: change.Object, Message: cmp.Or(change.Refusal, change.Message, "does not exist")})
	}
	return reason, r.inPhase(order, notices)
}

// setProgressing sets the condition Progressing.
func (r *reporting) setProgressing() {
	state, reason, message := r.set.GetStatus().GetState()
	set := func(progresses bool, reason, message string) {
		r.condition(v1alpha1.ConditionTypeProgressing, progresses, reason, message)
	}
	switch {
	case r.isDeleting():
		set(true, v1alpha1.ReasonDeleting, message)
	case r.conclusion.Archived:
		set(false, v1alpha1.ReasonArchived, message)
	case r.is(v1alpha1.LifecycleStateArchived):
		set(true, v1alpha1.ReasonArchivalInProgress, message)
	case reason == component.ReadyConditionReasonPaused:
		set(false, v1alpha1.ReasonPaused, message)
	case r.refusal() != "":
		set(false, r.refusal(), r.conclusion.Refusal.Error())
	case reason == component.ReadyConditionReasonTimeout:
		if waits := r.waits(); waits != "" {
			message = fmt.Sprintf("not available within %s: %s", r.set.GetSetSpec().GetTimeout(), waits)
		}
		set(false, cmp.Or(r.blocked(), v1alpha1.ReasonProgressDeadlineExceeded), message)
	case state == component.StateReady:
		set(false, v1alpha1.ReasonIdle, r.summary())
	default:
		set(true, v1alpha1.ReasonRollingOut, r.summary())
	}
}

// setInTransition sets the condition InTransition.
func (r *reporting) setInTransition() {
	left := r.total.Objects - r.total.Applied - r.total.Progressed
	switch {
	case r.isDeleting() || r.set.GetSetSpec().LifecycleState == v1alpha1.LifecycleStateArchived:
		r.set.GetStatus().RemoveCondition(v1alpha1.ConditionTypeInTransition)
	case r.total.Progressed > 0:
		r.condition(v1alpha1.ConditionTypeInTransition, true, v1alpha1.ReasonHandedOver,
			fmt.Sprintf("%d of %d objects belong to later revisions: %s", r.total.Progressed, r.total.Objects, r.progressed()))
	case left > 0:
		r.condition(v1alpha1.ConditionTypeInTransition, true, v1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d objects are not applied", left, r.total.Objects))
	default:
		r.condition(v1alpha1.ConditionTypeInTransition, false, v1alpha1.ReasonSettled, "all objects belong to this set")
	}
}

// maxNamed is the maximum number of objects that a message names.
const maxNamed = 10

// progressed names objects that belong to later revisions, in the order of the phases.
func (r *reporting) progressed() string {
	var held []*reconciler.InventoryItem
	for _, item := range r.conclusion.Inventory {
		if item.Holder != "" {
			held = append(held, item)
		}
	}
	slices.SortFunc(held, func(a, b *reconciler.InventoryItem) int {
		return cmp.Or(cmp.Compare(a.ApplyOrder, b.ApplyOrder), strings.Compare(types.IDOf(a).String(), types.IDOf(b).String()))
	})
	var names []string
	for _, item := range held[:min(len(held), maxNamed)] {
		names = append(names, types.IDOf(item).String())
	}
	if len(held) > maxNamed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// setSucceeded sets the condition Succeeded, which stays. It returns the delay until the set has succeeded; zero if
// that depends on anything else than time.
func (r *reporting) setSucceeded() time.Duration {
	if condition, ok := r.set.GetStatus().GetCondition(v1alpha1.ConditionTypeSucceeded); ok && condition.Status == component.ConditionTrue {
		return 0
	}
	available, ok := r.set.GetStatus().GetCondition(v1alpha1.ConditionTypeAvailable)
	if !r.set.GetStatus().IsReady() || !ok || available.Status != component.ConditionTrue || available.LastTransitionTime == nil || r.total.Applied != r.total.Objects {
		return 0
	}
	delay := time.Duration(r.set.GetSetSpec().SuccessDelaySeconds) * time.Second
	if left := available.LastTransitionTime.Add(delay).Sub(r.conclusion.Now.Time); left > 0 {
		return left
	}
	r.condition(v1alpha1.ConditionTypeSucceeded, true, v1alpha1.ReasonRolloutSuccess, r.summary())
	return 0
}
