// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/report"
	"github.com/component-operator/runtime/pkg/status"
)

// write applies the manifest of a desired object to the observed object, or creates it.
func (a *applier) write(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (outcome, error) {
	before := a.ownershipBefore(ctx, t, s, d)
	collector := &clients.Collector{}
	object, err := a.call.Executor.Apply(clients.WithWarnings(ctx, collector), t, a.call.Ledger.Of(t), s, d.Action)
	if err != nil {
		return outcome{}, err
	}
	a.written[t.Index] = true
	a.changed[t.Index] = a.changed[t.Index] || !s.Exists || object.GetResourceVersion() != s.Seen.ResourceVersion
	if err := a.call.Executor.NoteAnswer(t, a.call.Ledger.Of(t), object, collector); err != nil {
		return outcome{}, err
	}
	changed := d.Action != decisions.Verify || object.GetResourceVersion() != s.Seen.ResourceVersion
	cleaned, surplus, interrupted, err := removeSurplus(ctx, a.call, t, d, object, changed)
	if err != nil {
		return outcome{}, err
	}
	d.Message = a.corrected(t, d, before, object, surplus)
	if cleaned != nil {
		object, changed, a.changed[t.Index] = cleaned, true, true
	}
	o, err := a.wrote(t, object, d, changed)
	if err == nil && interrupted {
		o.item.Baseline = ""
		a.call.Retry(o.item)
	}
	if err == nil && !o.ready && isClaim(t.Key) && o.item.Status == status.InProgressStatus {
		// The server may have set the default class with the creation.
		o.ready, err = a.awaitsConsumer(ctx, t, o.item, object.GetUID())
	}
	return o, err
}

// removeSurplus removes what the update policy does not tolerate. If it was interrupted by another client, what was corrected before must still be reported; the next pass removes
// the rest.
func removeSurplus(
	ctx context.Context, call *calls.Call, t *desired.Object, d decisions.Decision, object *unstructured.Unstructured, changed bool,
) (cleaned *unstructured.Unstructured, surplus []fieldpath.Path, interrupted bool, err error) {
	isCorrection := d.Verb.IsCorrection()
	cleaned, surplus, err = call.Executor.RemoveSurplus(ctx, t, call.Ledger.Of(t), object, changed && !isCorrection)
	if isCorrection && answers.IsOutdated(err) {
		return nil, nil, true, nil
	}
	return cleaned, surplus, false, err
}

// observed returns the observation of an object in the response of a write. The event of the write often arrives before the response.
func observed(call *calls.Call, t *desired.Object, object *unstructured.Unstructured) observe.Observation {
	seen, view := call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	isSame := view == observe.Present && seen.UID == object.GetUID() && seen.ResourceVersion == object.GetResourceVersion()
	if isSame && !call.Server.Outdated(t.Key, seen) {
		return seen
	}
	seen = call.Server.Reader.Read(object)
	if t.Extracting {
		seen.Object = observe.Kept(object)
	}
	call.Server.Observer.Record(t.GVK(), t.Key.Namespace, t.Key.Name, seen)
	return seen
}

// wrote records the response of a write.
func (a *applier) wrote(t *desired.Object, object *unstructured.Unstructured, d decisions.Decision, changed bool) (outcome, error) {
	item := a.call.Ledger.Of(t)
	seen := observed(a.call, t, object)
	if err := a.call.Aliases.Refuse(t, seen.UID); err != nil {
		return outcome{}, err
	}
	now := a.call.Server.Clock.Now()
	if recalled := a.call.Memory.Peek(t.Key); recalled != nil {
		recalled.Retries = memory.Repetition{}
	}
	if d.Action == decisions.Verify {
		a.call.Memory.Of(t.Key).Verifications.Happened(now)
	}
	if changed {
		if d.Verb.IsCorrection() || d.Verb == inventory.VerbAdopted && item.UID != "" {
			a.call.Memory.Of(t.Key).Corrections.Happened(now)
		}
		if a.changed[t.Index] || !d.MayChangeNothing(t) {
			a.call.Report.Acted(d.Verb, t.ApplyOrder, item, d.Message)
		}
		noteManifest(a.call.Report, t, item, d.Verb)
		item.Phase = inventory.PhaseUpdating
		if d.Action == decisions.Create {
			item.Phase = inventory.PhaseCreating
		}
	}
	if changed || item.LastAppliedAt == nil {
		item.LastAppliedAt = &metav1.Time{Time: now}
	}
	item.UID, item.Fingerprint, item.Baseline = seen.UID, seen.Fingerprint, seen.Baseline()
	item.DeletePolicy, item.PrunePolicy = a.call.Owner.DeletePolicy(item, t.Delete), t.Prune
	s := decisions.Situation{Owner: a.call.Owner.Label, Exists: true, Seen: seen}
	o := a.settled(t, s)
	return o, nil
}

// noteManifest reports what is strange about a manifest that was written. A correction writes nothing new.
func noteManifest(to *report.Report, t *desired.Object, item *inventory.Item, verb inventory.Verb) {
	if verb.IsCorrection() {
		return
	}
	for _, note := range t.Notes {
		to.Notes(item, note)
	}
}

// create creates a desired object, if the owner confirms that it is still wanted.
func (a *applier) create(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (outcome, error) {
	if err := a.call.Consent.Confirm(ctx, t); err != nil {
		return outcome{}, err
	}
	return a.write(ctx, t, s, d)
}

// mark sets our marks on the observed object, without changing its content.
func (a *applier) mark(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) (outcome, error) {
	object, err := a.call.Executor.MarkOnly(ctx, t, a.call.Ledger.Of(t), s)
	if err != nil {
		return outcome{}, err
	}
	return a.wrote(t, object, d, true)
}
