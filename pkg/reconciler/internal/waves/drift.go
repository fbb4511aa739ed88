// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/contents"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/executor"
)

// fightThreshold is the number of corrections of one object in quick succession after which the engine reads who changes it, at
// the price of a request. It is below the number after which corrections are delayed.
const fightThreshold = 2

// ownershipBefore returns the managed fields of an object that is about to be corrected, if it was corrected often; nil if it was
// not, or if they cannot be read.
func (a *applier) ownershipBefore(ctx context.Context, t *desired.Object, s decisions.Situation, d decisions.Decision) []metav1.ManagedFieldsEntry {
	recalled := a.call.Memory.Peek(t.Key)
	if recalled == nil {
		return nil
	}
	if recalled.Corrections.Count == 0 {
		recalled.Fight = ""
	}
	if d.Verb != inventory.VerbCorrected || d.Action != decisions.Write || recalled.Corrections.Count < fightThreshold {
		return nil
	}
	object, err := a.call.Server.Get(ctx, a.call.Ledger.Of(t))
	if err != nil || object.GetResourceVersion() != s.Seen.ResourceVersion {
		return nil
	}
	return object.GetManagedFields()
}

// noteFight remembers who changed an object that was corrected often, given its managed fields before the correction.
func (a *applier) noteFight(t *desired.Object, before []metav1.ManagedFieldsEntry, object *unstructured.Unstructured) {
	if before == nil {
		return
	}
	fields, managers, err := fieldset.Contested(before, object.GetManagedFields(), a.call.Server.FieldOwner)
	if err != nil || len(managers) == 0 {
		return
	}
	a.call.Memory.Of(t.Key).Fight = fmt.Sprintf("is repeatedly changed by %s: %s", strings.Join(managers, ", "), executor.FieldTexts(fields))
}

// compare finds out by a dry run whether a dependent whose drift is only reported differs from its manifest.
func (a *applier) compare(ctx context.Context, t *desired.Object, s decisions.Situation) (outcome, error) {
	item := a.call.Ledger.Of(t)
	live, err := a.call.Server.Get(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	applied, err := a.call.Executor.Desired(t, item, s, live)
	if err != nil {
		return outcome{}, err
	}
	err = a.call.Server.Read(func() error {
		return a.call.Server.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner(a.call.Server.FieldOwner), client.DryRunAll)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("comparing %s: %w", t.Key, err)
	}
	a.call.Memory.Of(t.Key).Verifications.Happened(a.call.Server.Clock.Now())
	if !contents.Same(live, applied) {
		return a.reported(t, s, decisions.Decision{Message: decisions.ChangedByOthers}), nil
	}
	item.Baseline = a.call.Server.Reader.Read(live).Baseline()
	return a.kept(ctx, t, s)
}
