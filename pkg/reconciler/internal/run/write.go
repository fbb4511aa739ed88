// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// write applies the manifest of a desired object to the observed object, or creates it.
func (l *live) write(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	before := l.ownershipBefore(ctx, t, s, d)
	collector := &clients.Collector{}
	object, err := l.call.Executor.Apply(clients.WithWarnings(ctx, collector), t, l.call.Ledger.Of(t), s, d.Action)
	if err != nil {
		return outcome{}, err
	}
	l.written[t.Index] = true
	l.changed[t.Index] = l.changed[t.Index] || !s.Exists || object.GetResourceVersion() != s.Seen.ResourceVersion
	if err := l.call.Executor.NoteAnswer(t, l.call.Ledger.Of(t), object, collector); err != nil {
		return outcome{}, err
	}
	changed := d.Action != decide.Verify || object.GetResourceVersion() != s.Seen.ResourceVersion
	isCorrection := d.Verb.IsCorrection()
	cleaned, surplus, err := l.call.Executor.RemoveSurplus(ctx, t, l.call.Ledger.Of(t), object, changed && !isCorrection)
	// What was corrected before another client interfered must still be reported; the next pass removes the rest.
	interrupted := isCorrection && execute.IsOutdated(err)
	if err != nil && !interrupted {
		return outcome{}, err
	}
	d.Message = l.corrected(t, d, before, object, surplus)
	if cleaned != nil {
		object, changed, l.changed[t.Index] = cleaned, true, true
	}
	o, err := l.wrote(t, object, d, changed)
	if err == nil && interrupted {
		o.item.Baseline = ""
		l.call.Retry(o.item)
	}
	if err != nil {
		return o, err
	}
	// The server may have set the default class with the creation.
	return l.unlessAwaited(ctx, t, o, object.GetUID())
}

// observed returns the observation of an object in the response of a write. The event of the write often arrives before
// the response.
func observed(call *Call, t *prepare.Object, object *unstructured.Unstructured) observe.Observation {
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
func (l *live) wrote(t *prepare.Object, object *unstructured.Unstructured, d decide.Decision, changed bool) (outcome, error) {
	item := l.call.Ledger.Of(t)
	seen := observed(l.call, t, object)
	if err := l.call.Aliases.Refuse(t, seen.UID); err != nil {
		return outcome{}, err
	}
	now := l.call.Server.Clock.Now()
	if recalled := l.call.Memory.Peek(t.Key); recalled != nil {
		recalled.Retries = decide.Repetition{}
	}
	if d.Action == decide.Verify {
		l.call.Memory.Of(t.Key).Verifications.Happened(now)
	}
	if changed {
		if d.Verb.IsCorrection() || d.Verb == inventory.VerbAdopted && item.UID != "" {
			l.call.Memory.Of(t.Key).Corrections.Happened(now)
		}
		if l.changed[t.Index] || !d.MayChangeNothing(t) {
			l.call.Report.Acted(d.Verb, t.ApplyOrder, item, d.Message)
		}
		noteManifest(l.call.Report, t, item, d.Verb)
		item.Phase = inventory.PhaseUpdating
		if d.Action == decide.Create {
			item.Phase = inventory.PhaseCreating
		}
	}
	if changed || item.LastAppliedAt == nil {
		item.LastAppliedAt = &metav1.Time{Time: now}
	}
	item.UID, item.Fingerprint, item.Baseline = seen.UID, seen.Fingerprint, seen.Baseline()
	item.DeletePolicy, item.PrunePolicy = l.call.Owner.DeletePolicy(item, t.Delete), t.Prune
	s := decide.Situation{Owner: l.call.Owner.Label, Exists: true, Seen: seen}
	o := l.settled(t, s)
	return o, nil
}

// noteManifest reports what is strange about a manifest that was written. A correction writes nothing new.
func noteManifest(to *decide.Reporter, t *prepare.Object, item *inventory.Item, verb inventory.Verb) {
	if verb.IsCorrection() {
		return
	}
	for _, note := range t.Notes {
		to.Notes(item, note)
	}
}

// create creates a desired object, if the owner confirms that it is still wanted.
func (l *live) create(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	if err := l.call.Consent.Confirm(ctx, t); err != nil {
		return outcome{}, err
	}
	return l.write(ctx, t, s, d)
}

// mark sets our marks on the observed object, without changing its content.
func (l *live) mark(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, error) {
	object, err := l.call.Executor.MarkOnly(ctx, t, l.call.Ledger.Of(t), s)
	if err != nil {
		return outcome{}, err
	}
	return l.wrote(t, object, d, true)
}
