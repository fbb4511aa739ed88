// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Action is the action on one wanted object.
type Action int

const (
	Keep     Action = iota // leave it as it is; its status counts
	Create                 // create it; fail if it exists
	Write                  // apply the manifest to the observed object
	Verify                 // the same, expecting no change
	Compare                // find out by a dry run whether applying would change it
	Recreate               // delete the observed object, and create it when it is gone
	Mark                   // set our label and annotations on the observed object, without changing its content
	Ask                    // read it from the server, and decide again
	Await                  // wait until it is gone
	Complete               // record that it has served its purpose and is gone
	Dismiss                // record that it has failed and is gone
	Report                 // report that others changed it, and leave it as it is
	Refuse                 // fail, because it belongs to another owner
	Cede                   // leave it to the newer sibling that has, or had, it; its status counts
)

const (
	RunsAgain       = "has failed, and will run again"
	ChangedByOthers = "was changed by another client"
	Suspected       = "may have been changed by another client"
	ManifestChanged = "the manifest changed"
	Unrecorded      = "exists, but its creation was not recorded"

	// alreadyExists begins messages about an object that would have to be adopted.
	alreadyExists = "already exists"
)

// Decision is an action with its reason.
type Decision struct {
	Action Action
	Verb   inventory.Verb
	// Message is the reason; empty for actions that need none.
	Message string
	// Again is the time after which to decide again even without an event; zero if only an event can change the
	// decision.
	Again time.Duration
}

// MayChangeNothing reports whether the manifest is applied because it differs from the recorded one, which may never
// have been applied. Hooks count as applied again even if nothing changes.
func (d Decision) MayChangeNothing(t *prepare.Object) bool {
	return d.Action == Write && d.Message == ManifestChanged && t.Reconcile != inventory.ReconcilePolicyOnObjectOrComponentChange
}

// Apply decides what to do about a wanted object. It is a pure function.
func Apply(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	switch {
	case t.Ending && !s.Exists:
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "is gone, and no longer needed"}
	case !s.Exists:
		return decideAbsent(t, item, s)
	case s.Seen.Record != "":
		const message = alreadyExists + ", is part of a record of dependents (label %s), and cannot be a dependent"
		return Decision{Action: Refuse, Message: fmt.Sprintf(message, s.Seen.Record)}
	case s.Relation == inventory.RelationNewer && !s.TakeOver:
		return Decision{Action: Cede, Message: "was handed over to " + s.Holder}
	case s.Seen.Deleting:
		return Decision{Action: Await, Message: s.deletionText()}
	case t.Ending:
		return Decision{Action: Keep}
	case s.Relation == inventory.RelationOlder && !s.TakeOver:
		// It is not recreated as long as it can be updated.
		return adopting(t, "is handed over by "+s.Holder, true)
	case s.Seen.Owner != s.Owner:
		return Foreign(t, item, s)
	case item.Phase == inventory.PhaseScheduledForApplication:
		return decideChanged(t, item, s)
	default:
		return decideDrift(t, item, s)
	}
}

func decideAbsent(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if s.Relation == inventory.RelationNewer {
		return decideCededAbsent(t, item, s)
	}
	if !IsWritten(item) {
		return Decision{Action: Create, Verb: inventory.VerbCreated, Message: inventory.ReasonMissing}
	}
	if d, ended := decideEnded(t, item, s); ended {
		return d
	}
	switch {
	case !s.Proven && t.Drift == inventory.DriftPolicyReport:
		// It may only have lost its label.
		return Decision{Action: Ask}
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: "was deleted by another client"}
	case s.Correction > 0:
		return Decision{Action: Report, Message: s.repeatedlyDeleted(), Again: s.Correction}
	default:
		return Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}
	}
}

// decideEnded decides about an object that is gone because it has ended; ended reports whether that is the case.
func decideEnded(t *prepare.Object, item *inventory.Item, s Situation) (d Decision, ended bool) {
	finished := t.RemovesItself && item.Phase == inventory.PhaseReady && item.Status != status.FailedStatus ||
		s.Ended == status.CurrentStatus && (t.RemovesItself || t.PurgeOrder != nil)
	failed := t.FailsFinally && (item.Status == status.FailedStatus || s.Ended == status.FailedStatus)
	switch {
	case !finished && !failed:
		return Decision{}, false
	case !s.Proven:
		return Decision{Action: Ask}, true
	case failed:
		return Decision{Action: Dismiss, Message: "has failed, and is gone"}, true
	default:
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}, true
	}
}

// repeatedlyDeleted returns the reason for not creating a deleted object again yet. The last correction may have undone
// a change instead.
func (s Situation) repeatedlyDeleted() string {
	if s.Fight != "" {
		return "is repeatedly changed or deleted by other clients"
	}
	return "is repeatedly deleted by other clients"
}

// decideCededAbsent decides about an object that is gone after a newer sibling took it over. An object that removes
// itself when it has finished has served its purpose.
func decideCededAbsent(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if t.RemovesItself && item.Status == status.CurrentStatus {
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}
	}
	return Decision{Action: Cede, Message: "was handed over to " + s.Holder + ", and does not exist"}
}

// Foreign decides about an object without our label.
func Foreign(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if s.IsTakenOver() {
		// It must not be deleted, not even to be recreated.
		return adopting(t, alreadyExists+" and "+ownership(s), IsWritten(item))
	}
	if s.Seen.Owner == "" && !s.Proven {
		// The cache does not show who else claims the object.
		return Decision{Action: Ask}
	}
	if d, ours := decideUnlabelled(t, item, s); ours {
		return d
	}
	if IsWritten(item) {
		if d, leave := leaveAlone(t, s, "was recreated or adopted by another client"); leave {
			return d
		}
	}
	owner := ownership(s)
	adopt := adopting(t, alreadyExists+" and "+owner, true)
	if adopt.Action == Write && t.Update == inventory.UpdatePolicyRecreate {
		adopt.Action = Recreate
	}
	if mayAdopt(t, s) {
		return adopt
	}
	return Decision{Action: Refuse, Message: fmt.Sprintf("%s and %s, but its adoption policy is %s", alreadyExists, owner, annotations.Kebab(string(t.Adoption)))}
}

// mayAdopt reports whether the adoption policy permits the adoption of an object without our label.
func mayAdopt(t *prepare.Object, s Situation) bool {
	unowned := s.Seen.Owner == "" && s.Rival.text == ""
	switch t.Adoption {
	case inventory.AdoptionPolicyAlways:
		return true
	case inventory.AdoptionPolicyIfUnowned:
		return unowned
	case inventory.AdoptionPolicyNever:
		// An object that the owner itself has released may be taken back, unless it was written again since; and one
		// that the owner itself controls belongs to it already.
		return unowned && (s.Released && s.Seen.Fingerprint != "" || s.Rival.own)
	}
	return false
}

// decideUnlabelled decides about an object that we wrote and that has only lost our label; ours reports whether that is
// the case.
func decideUnlabelled(t *prepare.Object, item *inventory.Item, s Situation) (d Decision, ours bool) {
	switch {
	case !s.unlabelled(item):
		return Decision{}, false
	case !IsWritten(item):
		return decideChanged(t, item, s), true
	default:
		// That is drift like any other.
		return correct(t, s, "lost its owner label"), true
	}
}

func ownership(s Situation) string {
	switch {
	case s.Seen.Owner == "" && s.Rival.text != "":
		return s.Rival.text
	case s.Seen.Owner == "" && s.Rival.own:
		return "is controlled by its owner"
	case s.Seen.Owner == "":
		return "has no owner"
	case s.Whose == "" || manifest.OwnerLabel(s.Whose) != s.Seen.Owner:
		return "has another owner"
	case s.Named != "":
		return "belongs to " + s.Named
	default:
		return "has another owner, " + s.Whose
	}
}

// adopting decides to adopt an object. With ReconcilePolicyOnce, it may only be marked: the policy requires no more
// than its existence, and its content may have been generated when it was created.
func adopting(t *prepare.Object, message string, mayMark bool) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: message}
	if mayMark && t.Reconcile == inventory.ReconcilePolicyOnce {
		d.Action = Mark
	}
	return d
}

// decideChanged decides about an object whose current manifest was not applied yet.
func decideChanged(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbUpdated, Message: ManifestChanged}
	if item.Status == status.FailedStatus {
		d.Message = RunsAgain
	}
	if item.UID == "" && item.LastAppliedAt == nil {
		// We created it, but the process ended before it could record that.
		d.Message = Unrecorded
		if t.Reconcile == inventory.ReconcilePolicyOnce {
			// The creation has set the content. If the whole record was lost, the content may rightly have changed
			// since.
			d.Action = Mark
			return d
		}
	}
	// If the object is not the recorded one, it may have been created from this manifest already. Then applying changes
	// nothing, and it need not be recreated. Suspending and resuming do not require that either, unless they change an
	// immutable field; then the object is recreated later.
	isReplaced := t.Update == inventory.UpdatePolicyRecreate || item.Status == status.FailedStatus
	if isReplaced && item.UID != "" && s.Seen.UID == item.UID && !t.Suspended && !s.Seen.Suspended {
		d.Action = Recreate
	}
	return d
}

// decideDrift decides about an object whose current manifest was applied, and which others may have changed since.
func decideDrift(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyIgnore {
		return Decision{Action: Keep}
	}
	switch {
	case item.UID != "" && s.Seen.UID != item.UID:
		return correct(t, s, "was recreated by another client")
	case item.Fingerprint != "" && s.Seen.Fingerprint != item.Fingerprint:
		return correct(t, s, ChangedByOthers)
	case item.Baseline != "" && item.Baseline == s.Seen.Baseline():
		return Decision{Action: Keep}
	case s.Verification > 0:
		return Decision{Action: Keep, Again: s.Verification}
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Compare}
	default:
		return Decision{Action: Verify, Verb: inventory.VerbCorrected, Message: Suspected}
	}
}

// correct decides to correct drift, unless leaveAlone prevents that.
func correct(t *prepare.Object, s Situation, what string) Decision {
	if d, leave := leaveAlone(t, s, what); leave {
		return d
	}
	return Decision{Action: Write, Verb: inventory.VerbCorrected, Message: what}
}

// leaveAlone reports whether drift is not corrected, at least for now, and returns the decision.
func leaveAlone(t *prepare.Object, s Situation, what string) (Decision, bool) {
	switch {
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: what}, true
	case t.Drift == inventory.DriftPolicyIgnore, t.Reconcile == inventory.ReconcilePolicyOnce:
		return Decision{Action: Keep}, true
	case s.Correction > 0:
		repeated := what + " repeatedly"
		if done, ok := strings.CutPrefix(what, "was "); ok {
			repeated = "is repeatedly " + done
		}
		return Decision{Action: Report, Message: cmp.Or(s.Fight, repeated), Again: s.Correction}, true
	default:
		return Decision{}, false
	}
}

// IsTakenOver reports whether the observed object is not ours, and is adopted from any owner.
func (s Situation) IsTakenOver() bool { return s.TakeOver && s.Seen.Owner != s.Owner }

// MayRecreate reports whether the observed object may be recreated if a field of it cannot be changed.
func (s Situation) MayRecreate(t *prepare.Object) bool {
	return s.Exists && (t.RecreateIfImmutable || t.Update == inventory.UpdatePolicyRecreate) && !s.IsTakenOver() && !t.Incomplete
}

// Situation has all inputs of a decision about one object, apart from its manifest and record.
type Situation struct {
	// Owner is the value of our owner label.
	Owner string
	// Exists means that Seen is an observation.
	Exists bool
	// Proven means that the situation comes from the server, not from the cache.
	Proven bool
	// Typed means, if the object is proven not to exist, that the server serves its type in the recorded version.
	Typed bool
	Seen  observe.Observation
	// Live is the object, if it was read from the server. Decisions do not depend on it.
	Live *unstructured.Unstructured
	// Whose is the owner's ID according to the object's annotation, if the object was read from the server.
	Whose string
	// Named is the name of that owner in messages; empty if they use the ID.
	Named string
	// Released means that the owner had the object and has orphaned it, if the object was read from the server.
	Released bool
	// Rival is another claimant of the object, if the object was read from the server.
	Rival                    Rival
	Correction, Verification time.Duration
	// Ended is the outcome of the recorded object, which does not exist any more; empty if it is not known.
	Ended status.Status
	// Fight names the client that changes the object repeatedly; optional.
	Fight string
	// TakeOver means that the object is adopted from any owner.
	TakeOver bool
	// Relation is the relation of the object's owner to us; if the object does not exist, of its recorded holder. It is
	// empty if that owner is not a sibling.
	Relation inventory.Relation
	// Holder is the ID of that owner.
	Holder string
	// WantedAs names the wanted object that is identical to this redundant one; empty if there is none.
	WantedAs string
}

// unlabelled reports whether the observed object is the recorded one and was written by us, although our label is gone.
// The recorded UID proves nothing, because a user who may write the record can make it up.
func (s Situation) unlabelled(item *inventory.Item) bool {
	recorded := s.Seen.Owner == "" && item.UID != "" && s.Seen.UID == item.UID
	lost := s.Rival.operator == "" && (s.Whose == "" || manifest.OwnerLabel(s.Whose) == s.Owner)
	return recorded && lost && s.Seen.Fingerprint != ""
}

// RecordCompleted records that the object has served its purpose and is gone.
func RecordCompleted(i *inventory.Item) {
	i.Phase, i.Status = inventory.PhaseCompleted, ""
	i.Fingerprint, i.Baseline = "", ""
}

// Vanish records that the object is gone because it is suspended. It must be applied when it is resumed.
func Vanish(i *inventory.Item) {
	i.Phase, i.Status = inventory.PhaseScheduledForApplication, ""
	i.UID, i.Digest, i.Fingerprint, i.Baseline, i.LastAppliedAt = "", "", "", "", nil
}

// RecordKept records that the object is redundant and kept. The delete policy does not change, and the record still
// shows whether the suspended form was applied.
func RecordKept(i *inventory.Item) {
	digest := ""
	if IsSuspended(i) {
		digest = prepare.DigestSuspended
	}
	i.Phase, i.Digest, i.DeletionApproved = inventory.PhaseKept, digest, false
}

// EndKeeping schedules the deletion or orphaning of an object that was kept until now.
func EndKeeping(i *inventory.Item) { *i = *Unwanted(i, prepare.IsOrphanedOnApply) }

// IsSuspended reports whether the suspended form of the object was applied last.
func IsSuspended(i *inventory.Item) bool { return strings.HasPrefix(i.Digest, prepare.DigestSuspended) }

// MayExist reports whether the object may exist.
func MayExist(i *inventory.Item) bool {
	return i.Phase != inventory.PhaseScheduledForApplication || i.UID != "" || i.LastAppliedAt != nil
}

// HasOtherFormat reports whether the recorded digest has a different format: it was recorded by an operator with the
// predecessor of this SDK, or by a program without digests.
func HasOtherFormat(i *inventory.Item) bool {
	return i.Digest != "" && i.Digest != prepare.DigestOnce && i.Digest != prepare.DigestLate && !strings.HasPrefix(i.Digest, prepare.DigestRules)
}

// IsWritten reports whether the manifest with the recorded digest was applied.
func IsWritten(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseCreating || i.Phase == inventory.PhaseUpdating || i.Phase == inventory.PhaseReady
}

// RecordFailed records that the object has failed, and is gone.
func RecordFailed(i *inventory.Item) {
	i.Phase = inventory.PhaseFailed
	i.UID, i.Fingerprint, i.Baseline = "", "", ""
}

// IsDismissed reports whether the object has failed and was deleted.
func IsDismissed(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseFailed && i.UID == ""
}

// IsCompleting reports whether the object is being purged, or was.
func IsCompleting(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForCompletion || i.Phase == inventory.PhaseCompleting || i.Phase == inventory.PhaseCompleted
}

// IsRedundant reports whether the manifest of the object is gone, and the object is being deleted, is about to be, or
// is kept.
func IsRedundant(i *inventory.Item) bool { return IsUnwanted(i) || i.Phase == inventory.PhaseKept }

// IsUnwanted reports whether the object is being deleted, or is about to be, because its manifest is gone.
func IsUnwanted(i *inventory.Item) bool {
	return i.Phase == inventory.PhaseScheduledForDeletion || i.Phase == inventory.PhaseDeleting
}

// ChangedOnEveryAttempt is the reason for giving up a write.
const ChangedOnEveryAttempt = "was modified by other clients on every attempt"

// Contention explains why a write failed although it was decided again several times.
type Contention struct {
	unchanged error // the last answer, if the object had not changed; nil if others had changed it
}

// Met notes the answer to a write, and the state of the object before and after it.
func (c *Contention) Met(answer error, before, after Situation) {
	same := before.Exists == after.Exists && before.Seen.UID == after.Seen.UID && before.Seen.ResourceVersion == after.Seen.ResourceVersion
	c.unchanged = nil
	if same {
		c.unchanged = answer
	}
}

// Message returns that others kept changing the object or, if they did not, the API server's reason.
func (c *Contention) Message() string {
	if c.unchanged == nil {
		return ChangedOnEveryAttempt
	}
	return "was rejected with a conflict, although it has not changed: " + apiserver.Reason(c.unchanged)
}

const (
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
	helmHook             = "helm.sh/hook"

	// maxRivalText is the maximum length of a text about a rival, in bytes.
	maxRivalText = 200
)

// Rival is another claimant of an object, apart from owners of the same reconciler.
type Rival struct {
	// text completes "already exists and …", for example "is controlled by ReplicaSet web"; empty if there is no
	// claimant.
	text string
	// operator is the name of another operator of this kind whose owner label or annotation the object has; empty if
	// there is none.
	operator string
	// owner is the ID of the object's owner in that operator; empty if it is not known.
	owner string
	// own means that the controller of the object is the owner itself, so that it may be adopted.
	own bool
}

// RivalOf returns the claimant of an object according to its metadata: another operator of this kind, with a different
// key prefix; a controller; or a Helm release. An object of a release whose controller is the owner's own object, with
// the given UID, has none: a program with Helm's packages has managed it for the owner.
func RivalOf(object metav1.Object, own prepare.Keys, uid apitypes.UID) Rival {
	if operator, owner := operatorOf(object, own); operator != "" {
		text := fmt.Sprintf("belongs to operator %s", operator)
		if owner != "" {
			text = fmt.Sprintf("belongs to %s of operator %s", shortened(owner), operator)
		}
		return Rival{text: texts.Truncate(text, maxRivalText), operator: operator, owner: owner}
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		if controller.UID == uid && uid != "" && isHelms(object) {
			return Rival{own: true}
		}
		kind := schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind()
		return Rival{text: texts.Truncate("is controlled by "+types.ObjectText(kind, "", controller.Name), maxRivalText)}
	}
	annotations := object.GetAnnotations()
	if release := annotations[helmReleaseName]; release != "" {
		if namespace := annotations[helmReleaseNamespace]; namespace != "" {
			release = namespace + "/" + release
		}
		return Rival{text: texts.Truncate("belongs to Helm release "+release, maxRivalText)}
	}
	return Rival{}
}

// isHelms reports whether an object has marks of Helm.
func isHelms(object metav1.Object) bool {
	annotations := object.GetAnnotations()
	return annotations[helmReleaseName] != "" || annotations[helmHook] != ""
}

// shortened returns an ID without its prefix, the UID of a cluster: the rest is a namespace and a name.
func shortened(owner string) string {
	if parts := strings.SplitN(owner, "/", 2); len(parts) == 2 && strings.Contains(parts[1], "/") {
		return strings.TrimPrefix(parts[1], "/")
	}
	return owner
}

// operatorOf returns the name of another operator whose mark the object has, and the owner's ID if it is known.
func operatorOf(object metav1.Object, own prepare.Keys) (operator, owner string) {
	const label, annotation = "/" + types.LabelKeySuffixOwnerId, "/" + types.AnnotationKeySuffixOwnerId
	for _, key := range slices.Sorted(maps.Keys(object.GetLabels())) {
		if name, ok := strings.CutSuffix(key, label); ok && key != own.OwnerLabel {
			operator = cmp.Or(operator, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object.GetAnnotations())) {
		if name, ok := strings.CutSuffix(key, annotation); ok && key != own.OwnerAnnotation && (operator == "" || operator == name) {
			return name, object.GetAnnotations()[key]
		}
	}
	return operator, ""
}
