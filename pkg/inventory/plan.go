// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
type Plan struct {
	// Changes has an entry for each wanted object, in apply order, followed by one for each redundant dependent, in
	// delete order.
	Changes []Change `json:"changes"`
	// Inventory is what Apply would save before its first write; nil if it would not. A caller that has already saved
	// it may pass it to Apply, which then need not save it.
	Inventory []*Item `json:"-"`
	// Held are redundant dependents that Apply would not delete, because there are more than the request allows, or
	// because of PrunePolicyConfirm; nil if there are none. Their changes have no verb.
	Held *HeldDeletions `json:"held,omitempty"`
	// Namespaces are the missing namespaces that Apply would create although no wanted object declares them; sorted.
	// Only plans that compare find them.
	Namespaces []string `json:"namespaces,omitempty"`
}

// PlanOptions configure the Plan of a Reconciler. The zero value works.
type PlanOptions struct {
	// Ask reads each object that the watches do not show, because it may exist without our label. Defaults to no.
	// Compare includes it.
	Ask bool
	// Compare makes a dry run of each object that is not known to be up to date. Defaults to no: the plan is made from
	// watches and the inventory, without requests.
	Compare bool
	// LeftAlone, with Compare, also compares dependents whose drift is not corrected because of their drift policies.
	// Their changes have no verb; Before, After and Changed show what would be corrected otherwise. Defaults to no.
	LeftAlone bool
	// Unprivileged computes a change from the manifest if the caller may not make its dry run, as Change.Local says.
	// Defaults to no: the change is refused then.
	Unprivileged bool
}

// UnknownFieldsNote is how notes begin that name fields that the API server does not know, and that are left out.
const UnknownFieldsNote = "unknown fields were left out: "

// ReasonNotInManifests begins the reason of the change of an object that the inventory has and the manifests do not
// have any more.
const ReasonNotInManifests = "is no longer in the manifests"

// Change is what Apply would do about one object.
type Change struct {
	// Object is type and name.
	Object ObjectInfo `json:"object"`
	// Wave is the apply order of the object, or the delete order of a redundant dependent.
	Wave int `json:"wave"`
	// Verb is the first thing that would be done; empty if nothing would be. For an object that the same Apply creates
	// and purges, it is VerbCreated.
	Verb Verb `json:"verb,omitempty"`
	// Recreate means that the object would be deleted and created again.
	Recreate bool `json:"recreate,omitempty"`
	// Repeats means that the object would be applied again because its owner has changed
	// (ReconcilePolicyOnObjectOrComponentChange), and that its manifest is the recorded one: a hook that stays the
	// same.
	Repeats bool `json:"repeats,omitempty"`
	// Stays means that the object is redundant, and would not be deleted: it is kept, or its deletion is held. Then
	// there is no Verb.
	Stays bool `json:"stays,omitempty"`
	// Holder is the ID of the newer owner that has the object, or had it when it vanished; empty if there is none. Then
	// there is no Verb.
	Holder string `json:"holder,omitempty"`
	// Reason is a text such as "the manifest changed"; it may be empty if the object would not change.
	Reason string `json:"reason,omitempty"`
	// Refusal says why Apply would fail because of this object; empty if it would not.
	Refusal string `json:"refusal,omitempty"`
	// Foreign means that the object belongs to another owner, and that its adoption policy protects it. Such a refusal
	// is final; others may not be, because the API server may accept the object once earlier objects were applied.
	Foreign bool `json:"foreign,omitempty"`
	// Notes are warnings of the API server and what it would change in the object, such as unknown fields that it
	// drops; only if compared.
	Notes []string `json:"notes,omitempty"`
	// Local means that After was computed from the manifest (and the definition of the type, if the request has it),
	// because a dry run was not possible: the server does not know the type as it will be, or the namespace, a webhook
	// does not support dry runs, or the caller may not make one (PlanOptions.Unprivileged).
	Local bool `json:"local,omitempty"`
	// Before and After are the object as it is and as it would be stored, without the status and the metadata that the
	// server and the reconciler maintain; nil if it does not exist. Set only if compared, and for objects that would
	// change.
	Before *unstructured.Unstructured `json:"-"`
	After  *unstructured.Unstructured `json:"-"`
	// Changed are the fields that others have changed or removed since the last write; only if drift was compared.
	Changed []FieldChange `json:"-"`
	// Conflicts are the fields that the change would take from other field managers, because it declares other values;
	// only if compared.
	Conflicts []FieldChange `json:"-"`
	// Status is what is observed of the object; empty if it does not exist, or if that does not matter. Message
	// explains it.
	Status  status.Status `json:"-"`
	Message string        `json:"-"`
	// Digest identifies manifest and policies; empty if the object is no longer in the manifests.
	Digest string `json:"digest,omitempty"`
	// UID, Fingerprint and Baseline identify the state that the change was planned for (see Item); empty if the object
	// does not exist or is being deleted. If we own nothing in the object, the fingerprint is that of its content.
	UID         apitypes.UID `json:"uid,omitempty"`
	Fingerprint string       `json:"fingerprint,omitempty"`
	Baseline    string       `json:"baseline,omitempty"`
}

// FieldChange is a field that others have changed or removed, or that they own.
type FieldChange struct {
	// Path of the field, such as .spec.replicas. It includes everything below the field. Values of items of sets are
	// replaced by asterisks if they may be secret.
	Path string `json:"path"`
	// Manager is the field manager that owns the field now; empty if the field was removed, since nothing records who
	// did that.
	Manager string `json:"manager,omitempty"`
	// Time of the last write of that manager to the object; nil if not recorded.
	Time *metav1.Time `json:"time,omitempty"`
	// Ignorable is the path as the annotation ignore-fields names it; empty if that cannot name the field. Only
	// Change.Conflicts have it.
	Ignorable string `json:"-"`
}

// Verb says what was done to an object.
type Verb string

const (
	// VerbCreated means that the object did not exist.
	VerbCreated Verb = "Created"
	// VerbAdopted means that the object existed without being owned.
	VerbAdopted Verb = "Adopted"
	// VerbUpdated means that the manifest changed, or that the object existed and nothing was recorded of it.
	VerbUpdated Verb = "Updated"
	// VerbCorrected means that others had changed the object.
	VerbCorrected Verb = "Corrected"
	// VerbRestored means that others had deleted the object.
	VerbRestored Verb = "Restored"
	// VerbDeleted means that the object is gone.
	VerbDeleted Verb = "Deleted"
	// VerbCompleted means that the object was purged.
	VerbCompleted Verb = "Completed"
	// VerbOrphaned means that the object no longer belongs to the owner, and still exists.
	VerbOrphaned Verb = "Orphaned"
)

const (
	// ReasonMissing is the reason for creating an object about which there is nothing else to say.
	ReasonMissing = "does not exist"
	// ReasonUnchanged is the reason of a planned update by which nothing in the object changes.
	ReasonUnchanged = "is applied again, without a change"
)

// IsCorrection reports whether drift was corrected: others had changed or deleted the object.
func (v Verb) IsCorrection() bool { return v == VerbCorrected || v == VerbRestored }

// Action says what was done to the objects of one wave.
type Action struct {
	// Verb is what was done.
	Verb Verb
	// Wave is the apply order (for deletions: the delete order).
	Wave int
	// Objects are sorted by type and name.
	Objects []types.ObjectKey
	// Reasons say for each of the objects why, in a text such as "the manifest changed"; empty where there is nothing
	// to say.
	Reasons []string
}

// Notice says something about one object.
type Notice struct {
	// Object is type and name.
	Object types.ObjectKey
	// Message is a text such as "1/3 replicas available". It changes only if the situation does.
	Message string
	// Doomed means that waiting is useless: the namespace of the object is being deleted.
	Doomed bool
	// Reason says in one word why the object is not ready, in the vocabulary of its judge, such as "Scaling", or
	// NoticeReasonBlocked; empty if its judge has no such words, and for other notices.
	Reason string
	// Grade says how well the object does its job meanwhile; empty if that is not known.
	Grade status.Grade
	// Grace is how long the object may be not ready before its grade counts (see behaviors.Graceful); zero if there is
	// no limit.
	Grace time.Duration
	// Recreating means that the object is being deleted, and that a later call creates it again.
	Recreating bool
}

// NoticeReasonBlocked is the Notice.Reason of an object that is held back by a guard, by missing data, or because its
// type is not served.
const NoticeReasonBlocked = "Blocked"

// MaxDeletions is how many redundant dependents may be deleted without approval: a number ("5"), a percentage of the
// dependents ("25%", rounded down), or MaxDeletionsAllButOne. Empty means any number.
type MaxDeletions string

// MaxDeletionsAllButOne means that the last dependents are not deleted without approval: something must be left.
const MaxDeletionsAllButOne MaxDeletions = "AllButOne"

// Of returns how many of the dependents may be deleted. It returns an error if the value is none of those that
// MaxDeletions names.
func (m MaxDeletions) Of(dependents int) (allowed int, err error) {
	switch m {
	case "":
		return dependents, nil
	case MaxDeletionsAllButOne:
		return max(dependents-1, 0), nil
	}
	number, percent := strings.CutSuffix(string(m), "%")
	count, err := strconv.ParseUint(number, 10, 31)
	switch {
	case err != nil, percent && count > 100:
		return 0, fmt.Errorf("invalid value %q; must be a number of at least 0, a percentage from 0%% to 100%%, or %s", string(m), MaxDeletionsAllButOne)
	case percent:
		return dependents * int(count) / 100, nil
	default:
		return int(count), nil
	}
}

// Validate returns the error of Of.
func (m MaxDeletions) Validate() error {
	_, err := m.Of(0)
	return err
}

// Deletions limits how many redundant dependents are deleted. It does not concern the deletion of the owner, dependents
// that are orphaned, or those that have served their purpose. The zero value is no limit; dependents with
// PrunePolicyConfirm are held all the same.
type Deletions struct {
	// Max is the limit. It is compared with the redundant dependents whose deletion was neither requested nor approved
	// yet. A percentage refers to these and to the dependents that stay. Defaults to no limit.
	Max MaxDeletions
	// Approved is the digest of held dependents that may be deleted; see HeldDeletions. Defaults to none.
	Approved string
}

// HeldDeletions are dependents that are not deleted without approval: redundant ones, because there are more of them
// than allowed, or because of PrunePolicyConfirm, or those with DeletePolicyConfirmOnDelete, whose owner is being
// deleted.
type HeldDeletions struct {
	// Objects are the held dependents, sorted.
	Objects []ObjectInfo `json:"objects"`
	// Dependents counts the held ones and those that stay.
	Dependents int `json:"dependents"`
	// Allowed is how many may be deleted.
	Allowed int `json:"allowed"`
	// Confirm means that no limit is exceeded: the objects are those with PrunePolicyConfirm.
	Confirm bool `json:"confirm,omitempty"`
	// OwnerDeleted means that the owner is being deleted: the objects are those with DeletePolicyConfirmOnDelete.
	OwnerDeleted bool `json:"ownerDeleted,omitempty"`
	// Digest identifies exactly these objects, by their UIDs. To approve their deletion, pass it as Deletions.Approved,
	// or DeleteRequest.Approved.
	Digest string `json:"digest"`
}

// String says how many dependents are held, and why.
func (h *HeldDeletions) String() string {
	switch {
	case h.OwnerDeleted:
		return fmt.Sprintf("%d of %d dependents may be deleted only with approval", len(h.Objects), h.Dependents)
	case h.Confirm:
		return fmt.Sprintf("%d of %d dependents would be deleted, which needs approval because of the prune policy", len(h.Objects), h.Dependents)
	default:
		return fmt.Sprintf("%d of %d dependents would be deleted, but at most %d may be without approval", len(h.Objects), h.Dependents, h.Allowed)
	}
}

// Result says how far a call of Apply or Delete came. It is valid even if the call returned an error.
type Result struct {
	// Inventory is the state of all dependents. The caller must persist it, and pass it to the next call.
	Inventory []*Item
	// Done means that all objects are ready or completed and all redundant dependents are gone (Apply), or that all
	// dependents are gone (Delete).
	Done bool
	// Wave is the apply or delete order at which the call stopped; meaningful only if not Done.
	Wave int
	// WaveSize is the number of dependents in that wave.
	WaveSize int
	// Waits lists the dependents that the call waits for, sorted by object; empty if Done.
	Waits []Notice
	// Failures lists dependents that have failed, and do not become ready without intervention.
	Failures []Notice
	// Unhealthy lists dependents that do their job in part, or not at all, as far as their judges say so: the Grade is
	// GradeDegraded or GradeDown. They may be ready nevertheless. Dependents that the call has not come to are missing.
	Unhealthy []Notice
	// Drift lists dependents that others changed and that were not corrected, either because of DriftPolicyReport, or
	// because another client keeps changing them and the next correction has to wait.
	Drift []Notice
	// Notes lists what the API server changed or warned about while objects were written.
	Notes []Notice
	// Errors has a notice for each dependent for which the call has failed. The error of the call has their texts, too.
	Errors []Notice
	// Held are dependents that were not deleted without approval; nil if there are none. Then the result is not Done.
	// Apply holds redundant dependents, and does everything else. Delete does nothing if there are such dependents.
	Held *HeldDeletions
	// Aftermath says how far the on-failure hooks are. It does not affect Done.
	Aftermath Aftermath
	// Actions lists what was done to dependents.
	Actions []Action
	// RequeueAfter is how long to wait before repeating the call if no event arrives; zero if only an event can change
	// anything.
	RequeueAfter time.Duration
}

// Aftermath says how far the on-failure hooks of an owner are. It is empty unless they have been applied.
type Aftermath struct {
	// Waits lists the hooks that the call waits for, sorted by object, including those that have failed.
	Waits []Notice
	// Failures lists the hooks that have failed.
	Failures []Notice
	// Problem says why hooks could not be applied; empty if they could.
	Problem string
	// Lasting means that the problem does not go away by itself.
	Lasting bool
}

// Goes reports whether hooks are under way that may still become ready.
func (a Aftermath) Goes() bool {
	doomed := 0
	for _, notice := range a.Waits {
		if notice.Doomed {
			doomed++
		}
	}
	return len(a.Waits) > len(a.Failures)+doomed
}

// RefusedError says that objects cannot be accepted. The objects that it names were not written; if the objects
// contradict each other, or an annotation is invalid, none was. Retrying is useless until the input, or the object of
// the other owner, changes.
type RefusedError struct {
	// Problems are texts that name object, field, value, and what is allowed; sorted.
	Problems []string
	// Foreign means that the objects are fine, and every problem is an existing object of another owner that the
	// adoption policy protects.
	Foreign bool
	// Rejected means that every problem is an object that the API server has rejected.
	Rejected bool
}

// Error returns the problems, separated by semicolons.
func (e *RefusedError) Error() string {
	return strings.Join(e.Problems, "; ")
}

// NewRefusedError returns an error with the problems, sorted, each once.
func NewRefusedError(problems ...string) *RefusedError {
	slices.Sort(problems)
	return &RefusedError{Problems: slices.Compact(problems)}
}

// FencedError ends a call because Owner.Fence, Owner.Confirm or ApplyRequest.AfterWave returned an error. Earlier
// requests of the call stand.
type FencedError struct {
	// Reason is the error that Fence, Confirm or AfterWave returned.
	Reason error
}

// Error returns the reason.
func (e *FencedError) Error() string { return fmt.Sprintf("the call was stopped: %s", e.Reason) }

// Is reports whether the reason is the error. The reason is not unwrapped: an error that the API server returned about
// a lease, for example, must not be taken for one about a dependent.
func (e *FencedError) Is(err error) bool { return errors.Is(e.Reason, err) }

// StaleError ends a call of Apply because it would do something else than planned. If that was clear from the
// beginning, nothing was written; otherwise an object changed while the call was about to write it, and earlier writes
// stand.
//
// An object counts as changed if it was created again, or if others changed or removed fields that we own (any field,
// if we own none). Where field ownership is not tracked, its generation counts. A change of the status does not count.
type StaleError struct {
	// Changes are texts that name the object and what differs; sorted.
	Changes []string
}

// Error returns the changes, separated by semicolons.
func (e *StaleError) Error() string {
	return "the plan is outdated: " + strings.Join(e.Changes, "; ")
}
