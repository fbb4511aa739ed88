// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/contents"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

// depth says for what a planner makes requests.
type depth int

const (
	depthTold     depth = iota // objects that the observer knows nothing about
	depthAsked                 // also objects that may exist without our label
	depthCompared              // also dry runs of changes
)

// planner plans what applying the desired objects of a call would do.
type planner struct {
	call *calls.Call

	preview  *preview
	objects  []*desired.Object
	watched  []*desired.Object
	recorded map[types.ObjectID]*inventory.Item // before this call
	depth    depth
	suspend  bool // only suspended forms are planned

	// The fields below do not change during concurrent work.
	known map[schema.GroupVersionKind]bool // whether the types of the desired objects are served
	types kinds.TypeSet                    // types that Apply would create
}

func newPlanner(c *calls.Call, wanted []*desired.Object, recorded []*inventory.Item, depth depth) *planner {
	return &planner{
		call: c, objects: wanted, recorded: bookkeeping.Index(recorded), depth: depth,
		preview: &preview{call: c, objects: wanted, namespaces: map[string]bool{}, definitions: definitions{}, missing: map[string]bool{}},
		known:   map[schema.GroupVersionKind]bool{}, types: kinds.TypeSet{Items: map[types.ObjectID][]inventory.TypeVersionInfo{}},
	}
}

// notePrerequisite notes the namespace or type that Apply would create or change, for the plans of objects that need it.
func (p *planner) notePrerequisite(t *desired.Object, change inventory.Change) error {
	created := change.Verb == inventory.VerbCreated || change.Verb == inventory.VerbRestored
	if kinds.IsNamespace(t.Key.GroupKind) {
		p.preview.namespaces[t.Key.Name] = created
		return nil
	}
	if created {
		p.types.Items[t.Key] = t.ManagedTypes
	}
	altered := change.Before != nil && change.After != nil && !reflect.DeepEqual(change.Before.Object["spec"], change.After.Object["spec"])
	if p.depth != depthCompared || !kinds.IsCRD(t.Key.GroupKind) || !created && !altered {
		return nil
	}
	definition, err := p.call.Executor.Manifests.Of(t)
	if err != nil {
		return err
	}
	for _, managed := range t.ManagedTypes {
		p.preview.definitions[schema.GroupKind{Group: managed.Group, Kind: managed.Kind}] = contents.OpenSchemas(definition)
	}
	return nil
}

// digestOf returns the digest by which a saved plan notices that a manifest or its policies have changed. Purging and apply orders are
// part of the content, because only annotations set them.
func digestOf(content string, b policies.Effective) (string, error) {
	parts := []string{content, string(b.Adoption), string(b.Reconcile), string(b.Update), string(b.Delete), string(b.Drift)}
	if b.DeleteOrder != 0 {
		parts = append(parts, strconv.Itoa(b.DeleteOrder))
	}
	if b.DeletePropagation != "" {
		parts = append(parts, string(b.DeletePropagation))
	}
	if b.Prune != "" {
		parts = append(parts, "prune", string(b.Prune))
	}
	sum, err := digest.Of(parts)
	if err != nil {
		return "", err
	}
	return sum[:len(sum)/2], nil
}

// wanted returns what Apply would do with a wanted object.
func (p *planner) wanted(ctx context.Context, t *desired.Object) (inventory.Change, error) {
	item := p.call.Ledger.Of(t)
	change, err := p.change(t)
	if err != nil {
		return change, err
	}
	switch {
	case p.suspend:
		return change, p.planSuspension(ctx, &change, t)
	case item.Phase == inventory.PhaseCompleted, bookkeeping.IsCompleting(item) && t.PurgeOrder == nil:
		return change, nil
	case bookkeeping.IsCompleting(item):
		_, err = p.planEnd(ctx, &change, item, decisions.Deletion{Verb: inventory.VerbCompleted}, "has served its purpose")
		return change, err
	case bookkeeping.IsDismissed(item):
		change.Reason = "failed, and was deleted"
		return change, nil
	case item.Phase == inventory.PhaseFailed:
		_, err = p.planEnd(ctx, &change, item, decisions.Deletion{Verb: inventory.VerbDeleted}, "has failed")
		return change, err
	default:
		return change, p.planApply(ctx, &change, t)
	}
}

// planSuspension decides as Waves.Suspend does.
func (p *planner) planSuspension(ctx context.Context, change *inventory.Change, t *desired.Object) error {
	item := p.call.Ledger.Of(t)
	if !t.Suspended {
		return nil
	}
	s, err := p.look(ctx, item)
	if err != nil || !s.Exists {
		return err
	}
	if !t.VanishesAtOnce() {
		if err := p.planApply(ctx, change, t); err != nil || change.Verb != "" || !t.Vanishing {
			return err
		}
	}
	_, err = p.planEnd(ctx, change, item, decisions.Deletion{Verb: inventory.VerbDeleted, Wave: t.ApplyOrder}, "is deleted when it is suspended")
	return err
}

// change returns the parts of a change that do not depend on the object in the cluster.
func (p *planner) change(t *desired.Object) (inventory.Change, error) {
	item := p.call.Ledger.Of(t)
	change := inventory.Change{Object: inventory.ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}, Wave: t.ApplyOrder, Notes: slices.Clone(t.Notes)}
	content := t.Digest
	if content == desired.DigestLate || content == desired.DigestOnce && item.Phase == inventory.PhaseScheduledForApplication {
		// All objects that are applied once have the same digest, and so have all late objects; but this one still has to be applied, so its content counts.
		object, err := p.call.Executor.Manifests.Of(t)
		if err != nil {
			return change, err
		}
		if content, err = desired.DigestOf(object, inventory.ReconcilePolicyOnObjectChange, ""); err != nil {
			return change, err
		}
	}
	sum, err := digestOf(content, t.Effective)
	if err != nil {
		return change, fmt.Errorf("computing the digest of %s: %w", t.Key, err)
	}
	change.Digest = sum
	return change, nil
}

// retryPause is how long to wait before repeating a dry run for the first time because the object has changed; it doubles each time. A controller
// at work may write an object's status several times within a second.
const retryPause = 100 * time.Millisecond

// planApply decides as applier.applyOne does. Since nobody repeats a plan later, it waits between attempts.
func (p *planner) planApply(ctx context.Context, change *inventory.Change, t *desired.Object) error {
	item := p.call.Ledger.Of(t)
	s, err := p.look(ctx, item)
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		s = p.call.Pacing.Paced(t, item, s)
		d := decisions.Apply(t, item, s)
		if p.mustRead(t, d, s) {
			s, err = p.read(ctx, item)
			continue
		}
		calls.NoteState(change, s, p.call.Server.Keys)
		p.describe(change, t, d, s)
		if p.depth != depthCompared {
			return nil
		}
		var again bool
		if again, err = p.preview.show(ctx, change, t, d, s); err == nil && !again {
			if err := p.checkRecreation(ctx, change, item, s.Live); err != nil {
				return err
			}
			return p.showDeleted(ctx, change, item, s)
		}
		if err != nil {
			return err
		}
		if err = pause(ctx, retryPause<<attempt); err == nil {
			s, err = p.read(ctx, item)
		}
	}
	if err == nil {
		change.Reason = decisions.ChangedOnEveryAttempt
		return nil
	}
	return fmt.Errorf("looking at %s: %w", t.Key, err)
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// mustRead reports whether the object must be read before the decision counts.
func (p *planner) mustRead(t *desired.Object, d decisions.Decision, s decisions.Situation) bool {
	if s.Live != nil {
		return false
	}
	switch d.Action {
	case decisions.Ask:
		return true
	case decisions.Refuse:
		return p.mustName(s)
	case decisions.Create:
		return !s.Proven && (p.depth == depthAsked || p.depth == depthCompared && p.preview.isLocal(t))
	case decisions.Write, decisions.Recreate, decisions.Mark:
		return p.depth == depthCompared || p.depth == depthAsked && d.Verb == inventory.VerbAdopted
	case decisions.Verify, decisions.Compare:
		return p.depth == depthCompared
	case decisions.Keep, decisions.Report:
		return p.preview.isLeftAlone(t, d, s)
	case decisions.Await, decisions.Complete, decisions.Dismiss, decisions.Cede:
		return false
	default:
		return false
	}
}

// mustName reports whether a refused object must be read because the cache does not show whose it is, apart from parts of records.
func (p *planner) mustName(s decisions.Situation) bool {
	return !s.Proven && p.depth >= depthAsked && s.Seen.Record == ""
}

// describe completes a change from a decision.
func (p *planner) describe(change *inventory.Change, t *desired.Object, d decisions.Decision, s decisions.Situation) {
	item := p.call.Ledger.Of(t)
	change.Verb, change.Recreate, change.Repeats, change.Reason = "", false, false, d.Message
	switch d.Action {
	case decisions.Refuse:
		change.Reason, change.Refusal, change.Foreign = "", d.Message, s.Seen.Record == ""
	case decisions.Await:
		next := decisions.Apply(t, item, decisions.Situation{Owner: p.call.Owner.Label, Proven: true, Typed: true})
		change.Verb = next.Verb
	case decisions.Create, decisions.Write, decisions.Recreate, decisions.Mark, decisions.Complete:
		change.Verb, change.Recreate = d.Verb, d.Action == decisions.Recreate
		change.Reason, change.Repeats = p.because(t, d), p.repeats(t, d)
	case decisions.Keep, decisions.Ask, decisions.Verify, decisions.Compare, decisions.Report:
		p.planPurge(change, t, s)
	case decisions.Cede:
		change.Holder = s.Holder
	case decisions.Dismiss:
	}
}

// because says more precisely why a manifest is applied.
func (p *planner) because(t *desired.Object, d decisions.Decision) string {
	recorded := p.recorded[t.Key]
	switch {
	case d.Verb == inventory.VerbCreated && recorded != nil && recorded.Phase == inventory.PhaseCompleted:
		return "has completed, and runs again"
	case d.Verb != inventory.VerbUpdated || recorded == nil || d.Message == decisions.RunsAgain || d.Message == decisions.Unrecorded:
		return d.Message
	case bookkeeping.HasOtherFormat(recorded):
		return "was recorded in another format"
	case recorded.Digest == t.Digest:
		return "was not written yet"
	case bookkeeping.IsRedundant(recorded):
		return "is in the manifests again"
	case t.Reconcile == inventory.ReconcilePolicyOnObjectOrComponentChange && sameManifest(recorded.Digest, t.Digest):
		return "the owner changed"
	default:
		return d.Message
	}
}

// repeats reports whether a manifest that was applied before is applied again only because the owner has changed.
func (p *planner) repeats(t *desired.Object, d decisions.Decision) bool {
	recorded := p.recorded[t.Key]
	switch {
	case recorded == nil || t.Reconcile != inventory.ReconcilePolicyOnObjectOrComponentChange || d.Message == decisions.RunsAgain:
		return false
	case d.Verb != inventory.VerbUpdated && d.Verb != inventory.VerbCreated:
		return false
	case recorded.Phase == inventory.PhaseScheduledForApplication || bookkeeping.IsRedundant(recorded):
		return false
	default:
		return recorded.Digest != t.Digest && sameManifest(recorded.Digest, t.Digest)
	}
}

// sameManifest reports whether two digests are equal apart from the digest of the owner.
func sameManifest(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}
