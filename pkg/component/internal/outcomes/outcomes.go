// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package outcomes defines the outcomes of the steps of a pass, and their messages in the status.
package outcomes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Kind classifies the outcome of a step, and finally of a pass.
type Kind int

const (
	// Continue lets the next step run. It is never the outcome of a pass.
	Continue Kind = iota
	// Ready means that all dependents are ready.
	Ready
	// Progressing means that dependents are not ready yet.
	Progressing
	// Held means that all dependents are ready, and that redundant ones stay until a user approves their deletion.
	Held
	// Failed means that dependents have failed.
	Failed
	// Suspended means that the component is suspended.
	Suspended
	// Paused means that the component is paused: nothing was written.
	Paused
	// Archived means that the dependents are gone, and the component stays.
	Archived
	// Waiting means that the component waits for its turn in a rollout: it stays as it is.
	Waiting
	// Retriable means that a later attempt is expected to succeed.
	Retriable
	// Refused means that the input is not valid.
	Refused
	// Error is any other failure.
	Error
	// Blocked means that the deletion does not begin: foreign objects or finalizers of other controllers block it, or a
	// user has to approve it.
	Blocked
	// Deleting means that dependents are being deleted.
	Deleting
	// Gone means that the component is gone, or is not ours: nothing must be recorded.
	Gone
	// Abandoned means that another client has written the status meanwhile, or may have: nothing must be recorded.
	Abandoned
)

// Outcome is the result of a step.
type Outcome struct {
	Kind    Kind
	Message string
	// Err is returned to the controller, for Error.
	Err error
	// Refusal is why the component or a dependent is refused, for Refused.
	Refusal *reconciler.RefusedError
	// RetryAfter overrides the retry interval, for Retriable.
	RetryAfter *time.Duration
	// Crowded is set if the pass has ended because too many workers wait for slow clusters.
	Crowded bool
	// Wake is the delay until the next pass without an event; zero if events suffice.
	Wake time.Duration
}

// Proceed lets the next step run.
var Proceed = Outcome{}

// Of classifies an error; nil means to proceed.
func Of(err error) Outcome {
	var retriable types.RetriableError
	var refused *reconciler.RefusedError
	switch {
	case err == nil:
		return Proceed
	case errors.Is(err, resource.ErrChanged), errors.Is(err, resource.ErrNotOurs):
		return Outcome{Kind: Abandoned, Message: err.Error()}
	case errors.As(err, &retriable):
		return Outcome{Kind: Retriable, Message: err.Error(), RetryAfter: retriable.RetryAfter()}
	case errors.As(err, &refused):
		return Outcome{Kind: Refused, Message: err.Error(), Refusal: refused}
	default:
		// The controller logs it, too.
		err = texts.Error(err)
		return Outcome{Kind: Error, Message: err.Error(), Err: err}
	}
}

// Retry returns the outcome of a step that is expected to succeed later, and is retried after the delay, or after an
// event.
func Retry(message string, delay time.Duration) Outcome {
	return Outcome{Kind: Retriable, Message: message, RetryAfter: &delay}
}

const (
	// MissingDelay is the delay before checking again for an object that a user has to create.
	MissingDelay = 10 * time.Second
	// FirstBackoff is the first delay after a failure that needs a change by a user.
	FirstBackoff = 5 * time.Second
	// LongestBackoff is the maximum delay after such a failure: a repaired component must not wait long.
	LongestBackoff = time.Minute
)

// Backoff returns FirstBackoff, doubled with each attempt up to a limit.
func Backoff(attempts int, limit time.Duration) time.Duration {
	return min(FirstBackoff<<min(attempts, 20), limit)
}

// Reasons that are no statuses of package concepts.
const (
	ReasonError    = "Error"
	ReasonArchived = "Archived"
	ReasonDeleting = "Deleting"
)

// priorities are the reasons for not being healthy, the most important one first.
var priorities = []string{
	ReasonError, string(concepts.GraceStatusDown), string(concepts.GraceStatusDegraded),
	string(concepts.SuspensionStatusPending), string(concepts.SuspensionStatusSuspending),
	string(concepts.AliveConvergingStatusFailing), string(concepts.OperationalStatusFailing), string(concepts.CompletionStatusFailing),
	inventory.NoticeReasonBlocked,
	string(concepts.AliveConvergingStatusScaling), string(concepts.CompletionStatusRunning), string(concepts.AliveConvergingStatusUpdating),
	string(concepts.AliveConvergingStatusCreating), string(concepts.OperationalStatusPending), string(concepts.CompletionStatusPending),
}

// HealthFacts are the findings of a pass about health.
type HealthFacts struct {
	// Outcome is the kind of the pass's outcome, Message its message.
	Outcome Kind
	Message string
	// Waits and Failures are those of the engine.
	Waits, Failures []inventory.Notice
	// Inventory has the phases of the dependents.
	Inventory []*inventory.Item
	// Since is when the component, in its present form, stopped being ready; zero if it is ready.
	Since time.Time
	Now   time.Time
}

// HealthCondition is the content of the health condition.
type HealthCondition struct {
	// Healthy is the status of the condition.
	Healthy         bool
	Reason, Message string
	// Wake is the delay until the condition may change by itself; zero if it does not.
	Wake time.Duration
}

// HealthOf returns the health condition; known is false if the condition must stay as it is.
func HealthOf(f HealthFacts) (condition HealthCondition, known bool) {
	switch f.Outcome {
	case Ready, Held:
		return HealthCondition{Healthy: true, Reason: string(concepts.GraceStatusHealthy), Message: f.Message}, true
	case Suspended:
		return HealthCondition{Healthy: true, Reason: string(concepts.SuspensionStatusSuspended), Message: f.Message}, true
	case Archived:
		return HealthCondition{Healthy: true, Reason: ReasonArchived, Message: f.Message}, true
	case Deleting, Blocked:
		return HealthCondition{Reason: ReasonDeleting, Message: f.Message}, true
	case Retriable:
		return HealthCondition{Reason: inventory.NoticeReasonBlocked, Message: f.Message}, true
	case Refused, Error:
		return HealthCondition{Reason: ReasonError, Message: f.Message}, true
	case Progressing, Failed:
		return f.unhealthy(), true
	case Continue, Paused, Waiting, Gone, Abandoned:
	}
	return HealthCondition{}, false
}

// unhealthy returns the condition for the most important reason among the unready dependents. After the grace period of
// a dependent, its grade is the reason.
func (f HealthFacts) unhealthy() HealthCondition {
	phases := map[types.ObjectID]inventory.Phase{}
	for _, item := range f.Inventory {
		phases[types.IDOf(item)] = item.Phase
	}
	failed := map[types.ObjectID]bool{}
	for _, notice := range f.Failures {
		failed[types.IDOf(notice.Object)] = true
	}
	worst, wake := "", time.Duration(0)
	notices := map[string][]inventory.Notice{}
	for _, notice := range f.Waits {
		id := types.IDOf(notice.Object)
		reason := reasonOf(notice, phases[id], failed[id])
		if grade, left := f.graded(notice); grade != "" {
			reason = grade
		} else if left > 0 && (wake == 0 || left < wake) {
			wake = left
		}
		notices[reason] = append(notices[reason], notice)
		if worst == "" || rank(reason) < rank(worst) {
			worst = reason
		}
	}
	if worst == "" {
		// The pass waits for something other than a dependent.
		return HealthCondition{Reason: string(concepts.OperationalStatusPending), Message: f.Message}
	}
	return HealthCondition{Reason: worst, Message: messages[worst] + Notices(notices[worst]), Wake: wake}
}

// messages are the beginnings of messages, by reason.
var messages = map[string]string{
	string(concepts.GraceStatusDown):     "component is down: ",
	string(concepts.GraceStatusDegraded): "component is degraded: ",
}

// graded returns the grade of a dependent whose grace period is over; otherwise empty, and how much of the period is
// left. An unready dependent that does its job is not graded; one without a grade counts as degraded.
func (f HealthFacts) graded(notice inventory.Notice) (grade string, left time.Duration) {
	if notice.Grace == 0 {
		return "", 0
	}
	since := f.Since
	if since.IsZero() {
		since = f.Now
	}
	if left = since.Add(notice.Grace).Sub(f.Now); left > 0 {
		return "", left
	}
	switch notice.Grade {
	case status.GradeHealthy:
		return "", 0
	case status.GradeDown:
		return string(concepts.GraceStatusDown), 0
	case status.GradeDegraded:
	}
	return string(concepts.GraceStatusDegraded), 0
}

// reasonOf returns why a dependent is not ready. The judge sees only the object, not whether it was ready before; so it
// may confuse creating with scaling.
func reasonOf(notice inventory.Notice, phase inventory.Phase, failed bool) string {
	created, scaling := string(concepts.AliveConvergingStatusCreating), string(concepts.AliveConvergingStatusScaling)
	switch {
	case notice.Reason == created && phase == inventory.PhaseReady:
		return scaling
	case notice.Reason == scaling && phase == inventory.PhaseCreating:
		return created
	case notice.Reason == scaling && phase == inventory.PhaseUpdating:
		return string(concepts.AliveConvergingStatusUpdating)
	case notice.Reason != "":
		return notice.Reason
	case failed:
		return string(concepts.OperationalStatusFailing)
	case phase == inventory.PhaseCreating:
		return created
	case phase == inventory.PhaseUpdating:
		return string(concepts.AliveConvergingStatusUpdating)
	default:
		return string(concepts.OperationalStatusPending)
	}
}

// rank returns the index of a reason in priorities. Unknown reasons come last.
func rank(reason string) int {
	if i := slices.Index(priorities, reason); i >= 0 {
		return i
	}
	return len(priorities)
}

// MaxMessageLength is the maximum length of messages of conditions, in bytes. Events repeat them; their limit is 1 KiB.
const MaxMessageLength = 1024

// Bound returns a sentence that fits into a condition, without rejected values. The path of a field at its beginning
// stays as it is.
func Bound(message string) string {
	message = texts.Text(message)
	first, size := utf8.DecodeRuneInString(message)
	if word, _, _ := strings.Cut(message, " "); size > 0 && !strings.HasPrefix(word, "spec.") {
		message = string(unicode.ToUpper(first)) + message[size:]
	}
	return texts.Truncate(message, MaxMessageLength)
}

// listLimit leaves room for the text around a list in a message.
const listLimit = MaxMessageLength - 160

// Join joins as many items as fit, and counts the others.
func Join(items []string, separator string) string {
	var out strings.Builder
	for i, item := range items {
		if i > 0 && out.Len()+len(separator)+len(item) > listLimit {
			return out.String() + " … and " + strconv.Itoa(len(items)-i) + " more"
		}
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(item)
	}
	return out.String()
}

// Name formats the identity of an object.
func Name(object types.ObjectKey) string { return types.IDOf(object).String() }

// Notices formats the objects of notices with their messages, sorted.
func Notices(notices []reconciler.Notice) string {
	items := make([]string, len(notices))
	for i, notice := range notices {
		items[i] = Name(notice.Object) + ": " + notice.Message
	}
	slices.Sort(items)
	return Join(items, "; ")
}

// Waves names waves, by their apply or delete orders. If it is nil or returns an empty name, waves are named by their
// numbers.
type Waves func(order int) string

// Name returns the name of a wave.
func (w Waves) Name(order int) string {
	if w != nil {
		if name := w(order); name != "" {
			return name
		}
	}
	return types.WaveText(order)
}

// Waits formats the dependents that a wave waits for; what, "ready" or "deleted", is the awaited state.
func (w Waves) Waits(result reconciler.Result, what string) string {
	if len(result.Waits) == 0 {
		return w.Name(result.Wave) + " is being processed"
	}
	// Waits may include more than the wave, such as a namespace, or redundant dependents.
	size := max(result.WaveSize, len(result.Waits))
	return fmt.Sprintf("%d of %s of %s not %s: %s", len(result.Waits), Dependents(size), w.Name(result.Wave), what, Notices(result.Waits))
}

// Dependents formats a number of dependents.
func Dependents(count int) string {
	if count == 1 {
		return "1 dependent"
	}
	return strconv.Itoa(count) + " dependents"
}

// Failures formats the failed dependents.
func Failures(result reconciler.Result) string {
	return Dependents(len(result.Failures)) + " failed: " + Notices(result.Failures)
}

// Aftermath returns the state of the on-failure hooks as the end of a sentence; empty if there is none to report.
func Aftermath(result reconciler.Result) string {
	switch {
	case result.Aftermath.Problem != "":
		return "; on-failure hooks cannot be applied: " + result.Aftermath.Problem
	case len(result.Aftermath.Failures) > 0:
		return "; on-failure hooks have failed: " + Notices(result.Aftermath.Failures)
	case len(result.Aftermath.Waits) > 0:
		return "; on-failure hooks are not ready: " + Notices(result.Aftermath.Waits)
	default:
		return ""
	}
}

// Drift returns the dependents that others have changed as the end of a sentence; empty if there are none.
func Drift(result reconciler.Result) string {
	if len(result.Drift) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d changed by other clients, and not corrected: %s", len(result.Drift), Notices(result.Drift))
}

// Unhealthy returns the ready dependents that are not healthy as the end of a sentence; empty if there are none.
func Unhealthy(dependents []reconciler.Notice) string {
	if len(dependents) == 0 {
		return ""
	}
	items := make([]string, len(dependents))
	for i, dependent := range dependents {
		items[i] = fmt.Sprintf("%s is %s: %s", Name(dependent.Object), strings.ToLower(string(dependent.Grade)), dependent.Message)
	}
	return "; not healthy: " + Join(items, "; ")
}

// HeldBack describes the changes of a plan, and the dependents that are not ready.
func HeldBack(plan reconciler.Plan) string {
	var held, unready []string
	for _, change := range plan.Changes {
		name := Name(change.Object)
		switch {
		case change.Refusal != "":
			held = append(held, name+": would be refused: "+change.Refusal)
		case change.Verb != "":
			text := name + ": would be " + strings.ToLower(string(change.Verb))
			if change.Reason != "" {
				text += ", because: " + change.Reason
			}
			held = append(held, text)
		case change.Status != "" && change.Status != status.CurrentStatus:
			unready = append(unready, name+": "+change.Message)
		case change.Reason != "":
			held = append(held, name+": "+change.Reason)
		}
	}
	message := "nothing is held back"
	if len(held) > 0 {
		message = fmt.Sprintf("%d held back: %s", len(held), Join(held, "; "))
	}
	if len(unready) > 0 {
		message += fmt.Sprintf("; %d not ready: %s", len(unready), Join(unready, "; "))
	}
	return message
}
