// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// ownershipBefore returns the managed fields of an object that is about to be corrected, at the price of a request:
// only these say who has changed which field. It returns nil for other writes, for another object than the recorded
// one, or if the fields cannot be read.
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

// corrected returns the reason of a correction, as far as the clients and the changed fields are known: given the
// managed fields before the correction, the object after it, and what was removed from that. It remembers them in case
// that goes on.
func (l *live) corrected(t *prepare.Object, d decide.Decision, before []metav1.ManagedFieldsEntry, object *unstructured.Unstructured, surplus []fieldpath.Path) string {
	if !d.Verb.IsCorrection() {
		return d.Message
	}
	recalled := l.call.Memory.Of(t.Key)
	recalled.Fight = ""
	// Of an object that others have created again, all fields are theirs.
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
