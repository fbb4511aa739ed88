// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Reporter collects the result of a call of Apply or Delete, apart from the inventory. Its methods except StopsAt are
// safe for concurrent use. The zero value is an empty report.
type Reporter struct {
	mu      sync.Mutex
	result  inventory.Result
	actions []act
}

// act is one action on one object, and the reason.
type act struct {
	verb   inventory.Verb
	wave   int
	object types.ObjectKey
	reason string
}

// Acted reports an action on a dependent, and why it was done; the reason may be empty.
func (r *Reporter) Acted(verb inventory.Verb, wave int, item *inventory.Item, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actions = append(r.actions, act{verb: verb, wave: wave, object: objectRef(item), reason: reason})
}

// Awaits reports that the call waits for a dependent, and why.
func (r *Reporter) Awaits(item *inventory.Item, message string) {
	r.AwaitsHealth(item, message, inventory.Notice{})
}

// AwaitsHealth is Awaits with a notice that has further details about the dependent, such as its grade.
func (r *Reporter) AwaitsHealth(item *inventory.Item, message string, health inventory.Notice) {
	health.Message = message
	r.add(&r.result.Waits, item, health)
}

// Fails reports that a dependent has failed, and does not become ready without intervention.
func (r *Reporter) Fails(item *inventory.Item, message string) {
	r.add(&r.result.Failures, item, inventory.Notice{Message: message})
}

// HasFailures reports whether a dependent has failed.
func (r *Reporter) HasFailures() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.result.Failures) > 0
}

// Grades reports the grade of a dependent if it is known and not Healthy.
func (r *Reporter) Grades(item *inventory.Item, grade status.Grade, message string) {
	if grade != "" && grade != status.GradeHealthy {
		r.add(&r.result.Unhealthy, item, inventory.Notice{Message: message, Grade: grade})
	}
}

// Drifts reports drift of a dependent that is not corrected.
func (r *Reporter) Drifts(item *inventory.Item, message string) {
	r.add(&r.result.Drift, item, inventory.Notice{Message: message})
}

// Notes reports any other message about a dependent.
func (r *Reporter) Notes(item *inventory.Item, message string) {
	r.add(&r.result.Notes, item, inventory.Notice{Message: message})
}

// Errs reports that the work on a dependent has ended with an error.
func (r *Reporter) Errs(item *inventory.Item, err error) {
	name, text := types.IDOf(item).String()+": ", err.Error()
	for _, prefix := range []string{"", "applying ", "deleting "} {
		text = strings.TrimPrefix(text, prefix+name)
	}
	r.add(&r.result.Errors, item, inventory.Notice{Message: text})
}

func (r *Reporter) add(list *[]inventory.Notice, item *inventory.Item, notice inventory.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	notice.Object = objectRef(item)
	*list = append(*list, notice)
}

// Holds reports the redundant dependents that are not deleted without approval.
func (r *Reporter) Holds(held *inventory.HeldDeletions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Held = held
}

// StopsAt reports the order of the wave in which the call stops, and the number of its dependents.
func (r *Reporter) StopsAt(wave, size int) { r.result.Wave, r.result.WaveSize = wave, size }

// RequeueAfter makes the caller repeat the call after the delay at the latest.
func (r *Reporter) RequeueAfter(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delay > 0 && (r.result.RequeueAfter == 0 || delay < r.result.RequeueAfter) {
		r.result.RequeueAfter = delay
	}
}

// End returns the result, sorted. Nothing must be reported afterwards.
func (r *Reporter) End() inventory.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.actions, func(a, b act) int {
		return cmp.Or(cmp.Compare(a.wave, b.wave), cmp.Compare(a.verb, b.verb), types.IDOf(a.object).Compare(types.IDOf(b.object)))
	})
	for _, each := range r.actions {
		last := len(r.result.Actions) - 1
		if last < 0 || r.result.Actions[last].Verb != each.verb || r.result.Actions[last].Wave != each.wave {
			r.result.Actions = append(r.result.Actions, inventory.Action{Verb: each.verb, Wave: each.wave})
			last++
		}
		action := &r.result.Actions[last]
		action.Objects, action.Reasons = append(action.Objects, each.object), append(action.Reasons, each.reason)
	}
	for _, notices := range [][]inventory.Notice{r.result.Waits, r.result.Failures, r.result.Drift, r.result.Notes, r.result.Errors, r.result.Unhealthy} {
		slices.SortFunc(notices, func(a, b inventory.Notice) int {
			return cmp.Or(types.IDOf(a.Object).Compare(types.IDOf(b.Object)), cmp.Compare(a.Message, b.Message))
		})
	}
	return r.result
}

// objectRef returns a key that does not change with the item.
func objectRef(item *inventory.Item) types.ObjectKey {
	return &inventory.Item{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}
}

// Sort sorts items in delete order, which is also the order of inventories.
func Sort(items []*inventory.Item) {
	slices.SortFunc(items, func(a, b *inventory.Item) int {
		return cmp.Or(
			cmp.Compare(a.DeleteOrder, b.DeleteOrder),
			cmp.Compare(prepare.DeleteTier(a.GroupVersionKind().GroupKind()), prepare.DeleteTier(b.GroupVersionKind().GroupKind())),
			types.IDOf(a).Compare(types.IDOf(b)),
		)
	})
}

// Index returns items by their objects.
func Index(items []*inventory.Item) map[types.ObjectID]*inventory.Item {
	byKey := make(map[types.ObjectID]*inventory.Item, len(items))
	for _, item := range items {
		byKey[types.IDOf(item)] = item
	}
	return byKey
}

// Deletion describes how a dependent is deleted.
type Deletion struct {
	Orphan bool           // orphan it instead
	Verb   inventory.Verb // the action to report when it is gone
	Wave   int            // the wave to report
	Why    string         // the reason to report
	// Prune is the policy for a redundant object; empty if the object is deleted for another reason.
	Prune inventory.PrunePolicy
}

// Ending is the action on an object that should be gone.
type Ending int

const (
	Gone            Ending = iota // drop its item: it is gone, or not ours (any more)
	AwaitEnd                      // wait: it is being deleted
	RequestDeletion               // request its deletion
	Orphan                        // orphan it
	Forget                        // drop its item: the object is wanted under another type
	Stay                          // leave it alone, and keep its item
	AwaitApproval                 // wait: it must not be deleted before a user has approved that
	RefuseEnd                     // fail: it must not be deleted, and its item must not be dropped
)

// notOurs is the reason why a recorded object is neither deleted nor orphaned.
const notOurs = "stays, because it has neither the owner label nor fields of the field manager of its owner; delete it yourself if nobody needs it"

// recordsStay is the reason why a recorded object that itself records dependents is neither deleted nor orphaned.
const recordsStay = "is part of a record of dependents, and is left alone"

const (
	recreatedText = "was recreated by another client while it was being deleted, and has the label of this owner; " +
		"to keep the object, remove its label that ends with /owner-id; otherwise, delete it"
	keptText       = "is kept because of its prune policy"
	unapprovedText = "is kept until its deletion is approved, because of its prune policy"
)

// Delete decides what to do about an object that should be gone. It is a pure function.
func Delete(item *inventory.Item, s Situation, d Deletion) (Ending, string) {
	switch {
	case !s.Exists:
		return Gone, ""
	case s.WantedAs != "":
		return Forget, "is the same object as " + s.WantedAs + ", which is kept"
	}
	if why, foreign := s.foreign(item); foreign {
		return s.leave(item, d, why)
	}
	switch {
	case d.Orphan && s.wasOrphaned(item):
		return Gone, ""
	case s.Seen.Deleting:
		return AwaitEnd, s.deletionText()
	case d.Orphan:
		return Orphan, ""
	case d.keeps(item):
		return Stay, keptText
	case item.UID != "" && s.Seen.UID != item.UID && item.Phase != inventory.PhaseScheduledForDeletion && item.Phase != inventory.PhaseScheduledForCompletion:
		return RefuseEnd, recreatedText
	case d.needsApproval(item):
		return AwaitApproval, unapprovedText
	default:
		return RequestDeletion, ""
	}
}

// keeps reports whether a redundant object stays. A deletion that has begun is completed.
func (d Deletion) keeps(item *inventory.Item) bool {
	return d.Prune == inventory.PrunePolicyKeep && item.Phase != inventory.PhaseDeleting
}

// needsApproval reports whether a redundant object is kept until its deletion is approved.
func (d Deletion) needsApproval(item *inventory.Item) bool {
	return d.Prune == inventory.PrunePolicyConfirm && item.Phase == inventory.PhaseScheduledForDeletion && !item.DeletionApproved
}

// foreign reports whether a recorded object is neither deleted nor orphaned because it is not ours, and why.
func (s Situation) foreign(item *inventory.Item) (why string, foreign bool) {
	switch {
	case s.isOthers(item):
		if item.Holder != "" && manifest.OwnerLabel(item.Holder) == s.Seen.Owner {
			return "", true // it was handed over, as intended
		}
		return s.adopter(), true
	case s.Seen.Record != "":
		return recordsStay, true
	case s.Seen.Owner == "" && !s.unlabelled(item):
		// The record is no proof: a user who may write it could have any object deleted.
		return notOurs, true
	default:
		return "", false
	}
}

// leave decides about an object that is not ours.
func (s Situation) leave(item *inventory.Item, d Deletion, why string) (Ending, string) {
	operator := s.sameOwner(item)
	if operator == "" || d.Orphan {
		return Gone, why
	}
	if d.keeps(item) {
		return Stay, keptText
	}
	return RefuseEnd, markedByText(operator)
}

// sameOwner returns the name of another operator whose marks the recorded object has in place of ours, for the same
// owner, such as this operator under another name; empty if there is none.
func (s Situation) sameOwner(item *inventory.Item) (operator string) {
	if item.UID == "" || s.Seen.UID != item.UID || s.Seen.Owner != "" || s.Rival.owner == "" || manifest.OwnerLabel(s.Rival.owner) != s.Owner {
		return ""
	}
	return s.Rival.operator
}

func markedByText(operator string) string {
	return texts.Truncate(fmt.Sprintf("is recorded as a dependent, but has the owner label or annotation of operator %s; "+
		"to keep the object, remove both its label and its annotation %s", operator, operator+"/"+types.AnnotationKeySuffixOwnerId), 2*maxRivalText)
}

// deletionText returns a message that an object is being deleted, with the reason for the wait.
func (s Situation) deletionText() string {
	const plain = "being deleted"
	if s.Seen.Message == "" || s.Seen.Message == plain {
		return plain
	}
	return plain + ": " + s.Seen.Message
}

// isOthers reports whether the observed object is not the recorded one, or not ours any more.
func (s Situation) isOthers(item *inventory.Item) bool {
	if s.Seen.Owner != "" {
		// If another owner has adopted it, it stays.
		return s.Seen.Owner != s.Owner
	}
	// Others have created another object with this name, or have removed our marks from one whose UID is not recorded.
	return s.Seen.UID != item.UID
}

// adopter returns a message that an object stays because it has another owner's label; empty if it has none.
func (s Situation) adopter() string {
	switch {
	case s.Seen.Owner == "":
		return ""
	case s.Whose == "" || manifest.OwnerLabel(s.Whose) != s.Seen.Owner:
		return "belongs to another owner, and is left alone"
	default:
		return "belongs to " + cmp.Or(s.Named, s.Whose) + ", and is left alone"
	}
}

// wasOrphaned reports whether an earlier pass has removed our marks from an object, and ended before it could record
// that. The object may belong to others by now.
func (s Situation) wasOrphaned(item *inventory.Item) bool {
	// An object that defines types may still have our finalizer.
	return s.Proven && s.Seen.Owner == "" && s.Whose == "" && !prepare.DefinesTypes(item.GroupVersionKind().GroupKind())
}

// Owner has the parts of an owner that decisions need.
type Owner struct {
	// ID identifies the owner; Label is the value of its owner label.
	ID, Label string
	// Namespace is the default namespace of namespaced objects.
	Namespace string
	// Home are the namespaces of objects that the owner itself needs.
	Home []string
	// Self is the owner's own object; nil if it is in another cluster.
	Self types.ObjectKey
	// AdditionalManagedTypes are those that the owner names.
	AdditionalManagedTypes []inventory.TypeInfo
}

// UID returns the UID of the owner's own object; empty if it is not known.
func (o Owner) UID() apitypes.UID {
	if object, ok := o.Self.(interface{ GetUID() apitypes.UID }); ok {
		return object.GetUID()
	}
	return ""
}

// isHome reports whether deleting the object of an item would delete the owner: the object is a namespace that the
// owner needs, or defines the owner's type.
func (o Owner) isHome(item *inventory.Item) bool { return o.WhyOrphaned(item) != "" }

// WhyOrphaned returns the reason why an object that the owner needs is orphaned instead of deleted; empty if the owner
// does not need it.
func (o Owner) WhyOrphaned(item *inventory.Item) string {
	kind := item.GroupVersionKind().GroupKind()
	switch {
	case prepare.IsNamespace(kind) && slices.Contains(o.Home, item.Name):
		return "is orphaned instead of deleted, because its owner needs its contents"
	case o.Self != nil && prepare.DefinesTypes(kind) && slices.ContainsFunc(item.ManagedTypes, func(managed inventory.TypeVersionInfo) bool {
		return prepare.Matches(managed, o.Self.GetObjectKind().GroupVersionKind())
	}):
		return "is orphaned instead of deleted, because it defines the type of its owner"
	default:
		return ""
	}
}

// ProtectHome sets the delete policy Orphan on the namespaces that the owner needs, and on the definition of its type,
// regardless of their annotations. It changes the items.
func (o Owner) ProtectHome(items []*inventory.Item) {
	for _, item := range items {
		item.DeletePolicy = o.DeletePolicy(item, item.DeletePolicy)
	}
}

// DeletePolicy returns the effective delete policy of an item with the given declared policy.
func (o Owner) DeletePolicy(item *inventory.Item, declared inventory.DeletePolicy) inventory.DeletePolicy {
	if o.isHome(item) {
		return inventory.DeletePolicyOrphan
	}
	return declared
}

// Ending decides what to do about an object that should be gone. It does not wait for objects that the owner needs,
// because they are gone only after the owner.
func (o Owner) Ending(item *inventory.Item, s Situation, d Deletion) (Ending, string) {
	if o.isHome(item) {
		s.Seen.Deleting = false
	}
	return Delete(item, s, d)
}
