// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sync"
)

// ErrNotFound means that the release does not exist. The wrapping error names the release.
var ErrNotFound = errors.New("not found")

// ErrOutdated means that another process has written the record since it was read.
var ErrOutdated = errors.New("another process has changed its record in the meantime")

// ErrFull means that the index of a release would exceed the maximum size of a Secret. Nothing was written. Fewer
// revisions make it smaller.
var ErrFull = errors.New("it is full")

// DamagedError means that a record cannot be read completely, because others have changed or removed a part of it.
type DamagedError struct {
	// Release is namespace and name of the release.
	Release string
	// Part is the part that cannot be read.
	Part string
	// Damage names the object and its problem.
	Damage string
	// Revision is the number of the revision whose content is damaged; 0 if another part is.
	Revision int64
}

// Error names the release, the problem and the remedy.
func (e *DamagedError) Error() string {
	namespace, name, _ := strings.Cut(e.Release, "/")
	help := fmt.Sprintf("to examine it: clm doctor %s -n %s", name, namespace)
	if e.Revision != 0 {
		help = "it can be neither shown nor applied again; the rest of the release is not affected"
	}
	return fmt.Sprintf("%s of release %s is damaged: %s; %s", e.Part, e.Release, e.Damage, help)
}

// ErrLockLost means that a lock is no longer held, because another process has taken or removed its lease. The wrapping
// error names the release.
var ErrLockLost = errors.New("is lost")

// NotReadyError means that an operation has written all that it could, but ended before all objects were ready (or
// gone).
type NotReadyError struct {
	// Timeout is the timeout that expired; zero if the operation ended for another reason.
	Timeout time.Duration
	// Failed are the objects that will not become ready unless a user intervenes.
	Failed []reconciler.Notice
	// Waits are the objects that are not ready.
	Waits []reconciler.Notice
	// Cause is the error of the last call of the engine, for example about a failing webhook; nil if there was none.
	Cause error
}

// Error lists objects that are not ready: after a timeout those that wait, otherwise those that have failed.
func (e *NotReadyError) Error() string {
	notices := e.Waits
	if e.Timeout == 0 {
		notices = e.Failed
	}
	return withNotices(e.summary(), ": ", notices)
}

// short returns a duration without zeros at its end, such as 5m.
func short(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

func (e *NotReadyError) summary() string {
	text := "failed"
	if e.Timeout > 0 {
		text = "timed out after " + short(e.Timeout)
	}
	if e.Cause != nil {
		// Errors about several objects are joined by line breaks.
		text += "; the last attempt ended with: " + strings.ReplaceAll(e.Cause.Error(), "\n", "; ")
	}
	return text
}

// RefusedError means that an operation was not begun, or was ended, because the user has to decide.
type RefusedError struct {
	// Reason is the reason, with advice.
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Refused returns a RefusedError.
func Refused(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// BeingDeleted returns the RefusedError for any other operation on a release whose deletion has begun.
func BeingDeleted(release *Release) error {
	return Refused("release %s is being deleted; to continue: clm delete %s -n %s", release, release.Name, release.Namespace)
}

var errChanged = errors.New("was changed by another client after the plan was created")

// Changed returns the error about a release that another process has changed after the plan was made. IsChanged is true
// for it.
func Changed(release *Release) error { return fmt.Errorf("release %s %w", release, errChanged) }

// IsChanged reports whether an operation needs another plan, because another process has changed the release after the
// plan was made.
func IsChanged(err error) bool { return errors.Is(err, errChanged) }

// StageError means that one of the stages of an operation failed. It replaces the advice for its cause.
type StageError struct {
	// Stage is the name of the stage, such as "pre-delete hooks".
	Stage string
	// Advice is how to continue.
	Advice string
	// Cause is why the stage has failed.
	Cause error
}

// Error names the stage and the cause.
func (e *StageError) Error() string { return e.Stage + ": " + e.Cause.Error() }

func (e *StageError) summary() string { return e.Stage + ": " + Summary(e.Cause) }

// Unwrap returns the cause.
func (e *StageError) Unwrap() error { return e.Cause }

// InterruptedError means that an operation was ended by its caller, or canceled by a newer operation on the release.
type InterruptedError struct {
	// CanceledBy is the newer operation and its process, such as "apply of jane@laptop/4711"; empty if the caller has
	// ended the operation.
	CanceledBy string
	// Untouched means that this operation has not changed the release. It may have created its namespace.
	Untouched bool
	// Waits are the objects that are not ready.
	Waits []reconciler.Notice
}

// Error names the newer operation, if there is one, and the objects that are not ready.
func (e *InterruptedError) Error() string {
	return withNotices(e.summary(), "; not ready: ", e.Waits)
}

func (e *InterruptedError) summary() string {
	if e.CanceledBy == "" {
		return "interrupted"
	}
	return "canceled by a newer " + e.CanceledBy
}

// next returns advice after the operation; isAlone means that there is no other error.
func (e *InterruptedError) next(isAlone bool) string {
	switch {
	case e.CanceledBy == "" && !isAlone:
		return "To continue, run the same command again."
	case e.CanceledBy == "":
		return "Nothing is lost: to continue, run the same command again."
	case e.Untouched:
		return "The release was not changed. The newer operation was started later; running the same command again would undo what that does."
	case !isAlone:
		return "Running the same command again would undo what the newer operation does."
	}
	return "What was done so far is recorded, and the newer operation continues from there. Running the same command again would undo what that does."
}

// shownNotices bounds how many objects an error names.
const shownNotices = 10

// withNotices adds notices to a text, if there are any.
func withNotices(text, separator string, notices []reconciler.Notice) string {
	if len(notices) == 0 {
		return text
	}
	texts := display.Map(notices, func(n reconciler.Notice) string { return display.Text(n.Object) + " (" + n.Message + ")" })
	return text + separator + display.Enumerate(texts, shownNotices)
}

// IsFinal reports whether a retry is useless: the error of the engine is final, the record is outdated, or the user has
// to decide.
func IsFinal(err error) bool {
	var refused *RefusedError
	return sync.IsFinal(err) || errors.Is(err, ErrOutdated) || errors.As(err, &refused)
}

// IsFailure reports whether an operation ended because the objects that it applied were rejected, failed, or did not
// become ready in time.
func IsFailure(err error) bool {
	var notReady *NotReadyError
	var rejected *reconciler.RefusedError
	return errors.As(err, &notReady) || errors.As(err, &rejected) || apiserver.IsRejected(err)
}

// Summary returns the text of an error to show beside a list of the unready objects. It includes the text of each
// joined error.
func Summary(err error) string {
	var listed interface {
		error
		summary() string
	}
	joined := joinedErrors(err)
	switch {
	case len(joined) > 0:
		return strings.Join(display.Map(joined, Summary), "; ")
	case errors.As(err, &listed):
		return listed.summary()
	default:
		// Errors about several objects are joined by line breaks.
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
}

// joinedErrors returns the errors that errors.Join has joined; none for any other error.
func joinedErrors(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	if joined := errors.Join(several.Unwrap()...); joined == nil || joined.Error() != err.Error() {
		return nil
	}
	return several.Unwrap()
}

// AdviceForeign returns advice about the objects of other owners for which a release was refused. If all of them belong
// to the Helm release of the same name, it advises to adopt that.
func AdviceForeign(release *Release, problems []string) string {
	helms := fmt.Sprintf(" belongs to Helm release %s/%s,", release.Namespace, release.Name)
	if len(problems) > 0 && !slices.ContainsFunc(problems, func(problem string) bool { return !strings.Contains(problem, helms) }) {
		return fmt.Sprintf("clm adopt %s --from-helm -n %s adopts the Helm release", release.Name, release.Namespace)
	}
	return "'clm apply --adopt always' adopts an object even if it has another owner; clm move moves an object from one release to another"
}

// maxGrouped is the maximum number of objects with the same problem that are listed.
const maxGrouped = 3

// Grouped joins problems that are the same for several objects: "ConfigMap a, ConfigMap b, and 2 more: already exists".
func Grouped(problems []string) []string {
	objects := map[string][]string{}
	var texts, grouped []string
	for _, problem := range problems {
		object, text, _ := strings.Cut(problem, ": ")
		if objects[text] == nil {
			texts = append(texts, text)
		}
		objects[text] = append(objects[text], object)
	}
	for _, text := range texts {
		named := objects[text]
		if text == "" {
			grouped = append(grouped, named...)
			continue
		}
		grouped = append(grouped, display.Enumerate(named, maxGrouped)+": "+text)
	}
	return grouped
}

// Next returns advice after an operation on a release that ended with an error; may be empty.
func Next(err error, release *Release) string {
	var notReady *NotReadyError
	var interrupted *InterruptedError
	var staged *StageError
	var stale *reconciler.StaleError
	var rejected *reconciler.RefusedError
	switch {
	case errors.Is(err, ErrLockLost):
		return "Another process now holds the lock and is changing the release. When it has finished, run the same command again."
	case errors.As(err, &staged) && !errors.As(err, &interrupted):
		return staged.Advice
	case errors.As(err, &notReady) && notReady.Cause != nil:
		return "When the problem is fixed, run the same command again."
	case errors.As(err, &notReady) && notReady.Timeout > 0:
		return "To keep waiting, run the same command again with a longer --timeout."
	case errors.As(err, &notReady):
		return fmt.Sprintf("Failed objects will not become ready on their own. To see why they failed: clm status %s -n %s", release.Name, release.Namespace)
	case errors.As(err, &interrupted):
		return interrupted.next(len(joinedErrors(err)) < 2)
	case errors.As(err, &rejected) && rejected.Foreign:
		return "To adopt objects of other owners: " + AdviceForeign(release, rejected.Problems) + "."
	case errors.As(err, &stale):
		return "To see what would be done now, create a new plan with clm plan."
	default:
		return ""
	}
}

// Messages returns the messages of notices by object.
func Messages(notices []reconciler.Notice) map[display.Key]string {
	texts := make(map[display.Key]string, len(notices))
	for _, notice := range notices {
		texts[display.KeyOf(notice.Object)] = notice.Message
	}
	return texts
}

// Continuation returns the command that continues an unfinished operation on a release; empty if there is none.
func Continuation(release *Release) string {
	switch release.State {
	case StateApplying:
		return fmt.Sprintf("clm apply %s SOURCE... -n %s", release.Name, release.Namespace)
	case StateDeleting:
		return fmt.Sprintf("clm delete %s -n %s", release.Name, release.Namespace)
	case StateReady, StateFailed:
	}
	return ""
}
