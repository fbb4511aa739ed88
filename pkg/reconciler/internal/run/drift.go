// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// ownershipBefore returns the managed fields of an object that is about to be corrected, at the cost of a request: only
// these fields show which client changed which field. It returns nil for other writes, for another object than the
// recorded one, or if the fields cannot be read.
func (l *live) ownershipBefore(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) []metav1.ManagedFieldsEntry {
	if !d.Verb.IsCorrection() || d.Action != decide.Write || s.Seen.UID != l.call.Ledger.Of(t).UID {
		return nil
	}
	object, err := l.call.Server.Get(ctx, l.call.Ledger.Of(t))
	if err != nil || object.GetResourceVersion() != s.Seen.ResourceVersion {
		return nil
	}
	return object.GetManagedFields()
}

// corrected returns the reason for a correction, with the clients and the changed fields if they are known. It takes
// the managed fields before the correction, the object after it, and the fields that were then removed. It remembers
// clients and fields in case the corrections repeat.
func (l *live) corrected(t *prepare.Object, d decide.Decision, before []metav1.ManagedFieldsEntry, object *unstructured.Unstructured, surplus []fieldpath.Path) string {
	if !d.Verb.IsCorrection() {
		return d.Message
	}
	recalled := l.call.Memory.Of(t.Key)
	recalled.Fight = ""
	// If others have recreated the object, all fields are theirs.
	if l.call.Ledger.Of(t).UID != object.GetUID() {
		return d.Message
	}
	what := l.call.Executor.Changers(before, object.GetManagedFields(), surplus)
	if what == "" {
		return d.Message
	}
	recalled.Fight = "is repeatedly changed by " + what
	return "was changed by " + what
}

// compare finds out by a dry run whether a dependent whose drift is only reported differs from its manifest.
func (l *live) compare(ctx context.Context, t *prepare.Object, s decide.Situation) (outcome, error) {
	item := l.call.Ledger.Of(t)
	live, err := l.call.Server.Get(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	applied, err := l.call.Executor.Desired(t, item, s, live)
	if err != nil {
		return outcome{}, err
	}
	err = l.call.Server.Read(func() error {
		return l.call.Server.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner(l.call.Server.FieldOwner), client.DryRunAll)
	})
	if err != nil && !execute.IsInvalid(err) {
		return outcome{}, fmt.Errorf("comparing %s: %w", t.Key, err)
	}
	l.call.Memory.Of(t.Key).Verifications.Happened(l.call.Server.Clock.Now())
	if err != nil || !execute.Same(withDigestOf(applied, live, l.call.Server.Keys.Digest), applied) {
		return l.reported(t, s, decide.Decision{Message: decide.ChangedByOthers}), nil
	}
	item.Baseline = l.call.Server.Reader.Read(live).Baseline()
	return l.kept(ctx, t, s)
}

// withDigestOf returns a live object with the digest of the applied one: a manifest may have several.
func withDigestOf(applied, live *unstructured.Unstructured, key string) *unstructured.Unstructured {
	annotations := live.GetAnnotations()
	if present := annotations[key]; present == "" || present == applied.GetAnnotations()[key] {
		return live
	}
	annotations[key] = applied.GetAnnotations()[key]
	live = live.DeepCopy()
	live.SetAnnotations(annotations)
	return live
}

// namedOwners is the maximum number of objects that are read to get the names of their other owners: the observer knows
// only hashes of these.
const namedOwners = 10

// CheckOwnership refuses objects of another owner that the observer knows. Others are refused when they would be
// created.
func (w *Waves) CheckOwnership(ctx context.Context, wanted []*prepare.Object) error {
	var problems []string
	named := 0
	for _, t := range wanted {
		s, refused := w.isForeign(t)
		if !refused {
			continue
		}
		item := w.call.Ledger.Of(t)
		item.Holder = ""
		if named < namedOwners {
			live, err := w.call.Server.Ask(ctx, item)
			named++
			_, silent := errors.AsType[*clients.NoAnswerError](err)
			switch {
			case silent || err != nil && ctx.Err() != nil:
				return fmt.Errorf("looking at %s, which has another owner: %w", t.Key, err)
			case err != nil:
				// A user without permission to read it must not learn the names of other owners.
				named = namedOwners
			default:
				s.Whose, s.Named = live.Whose, live.Named
			}
		}
		problem := fmt.Sprintf("%s: %s", t.Key, decide.Foreign(t, item, s).Message)
		w.call.Report.Errs(item, errors.New(problem))
		problems = append(problems, problem)
	}
	if len(problems) == 0 {
		return nil
	}
	refusal := inventory.NewRefusedError(problems...)
	refusal.Foreign = true
	return refusal
}

// isForeign reports whether an object must not be adopted, as far as the observer knows.
func (w *Waves) isForeign(t *prepare.Object) (decide.Situation, bool) {
	item := w.call.Ledger.Of(t)
	if decide.IsWritten(item) || decide.IsCompleting(item) || t.Adoption == inventory.AdoptionPolicyAlways {
		return decide.Situation{}, false
	}
	seen, view := w.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view != observe.Present || seen.Owner == w.call.Owner.Label || seen.Deleting {
		return decide.Situation{}, false
	}
	s := w.call.Paced(t, item, decide.Situation{Owner: w.call.Owner.Label, Exists: true, Seen: seen})
	if s.Relation != "" || s.IsTakenOver() {
		return decide.Situation{}, false
	}
	return s, decide.Foreign(t, item, s).Action == decide.Refuse
}

// Expect makes the call follow a plan, or the rest of it.
func (c *Call) Expect(plan *inventory.Plan) { c.expected = index(plan) }

// asExpected returns a *StaleError if an object is not in the state that the plan was made for. It may read the object,
// and then returns the new situation.
func (c *Call) asExpected(ctx context.Context, item *inventory.Item, s decide.Situation) (decide.Situation, error) {
	key := types.IDOf(item)
	then := c.expected[key]
	if then == nil {
		return s, nil
	}
	unseen := !s.Exists && !s.Proven && then.UID != ""
	foreign := s.Exists && s.Seen.UID == then.UID && s.Seen.Fingerprint == "" && then.Fingerprint != ""
	if unseen || foreign {
		var err error
		if s, err = c.Server.Ask(ctx, item); err != nil {
			return s, err
		}
	}
	var now inventory.Change
	NoteState(&now, s, c.Server.Keys)
	if text := differs(then, &now); text != "" {
		return s, &inventory.StaleError{Changes: []string{fmt.Sprintf("%s: %s", key, text)}}
	}
	return s, nil
}

// differs returns the difference between the state of an object and the state that a change was planned for; empty if
// there is none.
func differs(then, now *inventory.Change) string {
	switch {
	case then.UID == now.UID:
	case then.UID == "":
		return "was created since the plan was made"
	case now.UID == "":
		return "no longer exists, or is being deleted"
	default:
		return "was recreated since the plan was made"
	}
	same := then.Baseline == now.Baseline
	if then.Fingerprint != "" && now.Fingerprint != "" {
		same = then.Fingerprint == now.Fingerprint
	}
	if !same {
		return "was changed by another client since the plan was made"
	}
	return ""
}

// NoteState notes the state that a change is planned for. An object that is being deleted counts as absent.
func NoteState(change *inventory.Change, s decide.Situation, keys prepare.Keys) {
	change.UID, change.Fingerprint, change.Baseline = "", "", ""
	if !s.Exists || s.Seen.Deleting {
		return
	}
	change.UID, change.Fingerprint, change.Baseline = s.Seen.UID, s.Seen.Fingerprint, s.Seen.Baseline()
	change.Status, change.Message = s.Seen.Status, s.Seen.Message
	if s.Live != nil && change.Fingerprint == "" {
		change.Fingerprint = contentFingerprint(s.Live, keys)
	}
}

// contentFingerprint returns a hash of the parts of an object that a plan shows; empty if they cannot be encoded.
func contentFingerprint(object *unstructured.Unstructured, keys prepare.Keys) string {
	sum, err := manifest.Digest(execute.Presentable(object, keys).Object)
	if err != nil {
		return ""
	}
	return sum[:len(sum)/2]
}

// CheckStale returns a *inventory.StaleError if the changes that would be made now deviate from the plan.
func CheckStale(plan, now *inventory.Plan) error {
	expected := index(plan)
	var stale []string
	for i := range now.Changes {
		change := &now.Changes[i]
		then := expected[types.IDOf(change.Object)]
		if text := staleness(then, change); text != "" {
			stale = append(stale, fmt.Sprintf("%s: %s", change.Object, text))
		}
	}
	found := index(now)
	for _, change := range plan.Changes {
		if change.Digest != "" && found[types.IDOf(change.Object)] == nil {
			stale = append(stale, change.Object.String()+": "+inventory.ReasonNotInManifests)
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return &inventory.StaleError{Changes: stale}
	}
	return nil
}

// index returns the changes of a plan by object.
func index(plan *inventory.Plan) map[types.ObjectID]*inventory.Change {
	changes := make(map[types.ObjectID]*inventory.Change, len(plan.Changes))
	for i := range plan.Changes {
		changes[types.IDOf(plan.Changes[i].Object)] = &plan.Changes[i]
	}
	return changes
}

// staleness returns the difference between a change and the planned one; empty if there is none.
func staleness(then, now *inventory.Change) string {
	switch {
	case now.Verb == "" && now.Refusal == "" && (then == nil || then.Digest == now.Digest):
		// There is nothing to do, or nothing left to do.
		return ""
	case then == nil:
		return "is not part of the plan"
	case then.Digest != now.Digest:
		return "its manifest or policies differ from the plan"
	}
	if text := differs(then, now); text != "" {
		return text
	}
	switch {
	case then.Refusal == "" && now.Refusal != "":
		return now.Refusal
	case then.Refusal == "" && then.Verb != now.Verb:
		return fmt.Sprintf("would be %s (%s), but %s in the plan", now.Verb, now.Reason, cmp.Or(then.Verb, "left alone"))
	default:
		return ""
	}
}
