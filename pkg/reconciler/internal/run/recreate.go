// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
)

// recreate deletes the observed object and, if it is gone at once, creates it. It deletes nothing that the API server
// would not let it create.
func (l *live) recreate(ctx context.Context, t *prepare.Object, s decide.Situation, d decide.Decision) (outcome, bool, error) {
	if err := l.call.Executor.ProbeCreation(ctx, t, l.call.Ledger.Of(t)); err != nil {
		return outcome{}, false, err
	}
	item := l.call.Ledger.Of(t)
	if !prepare.DefinesTypes(t.Key.GroupKind) {
		if again, err := l.mayRecreate(ctx, t, s); again || err != nil {
			return outcome{}, again, err
		}
	}
	gone, held, err := l.requestEnd(ctx, item, s)
	switch {
	case err != nil:
		return outcome{}, false, err
	case held != nil && held.instances != "":
		return outcome{}, false, inventory.NewRefusedError(fmt.Sprintf("%s: %s", t.Key, guard.HeldByInstances(held.instances)))
	case held != nil:
		held.unwritten = true
		return *held, false, nil
	}
	s = decide.Situation{Owner: l.call.Owner.Label, Proven: true, Typed: true}
	if !gone {
		if s, err = l.call.Server.Ask(ctx, item); err != nil {
			return outcome{}, false, err
		}
	}
	if s.Exists && !s.Seen.Deleting {
		return outcome{}, true, nil // others have created it already, which needs another decision
	}
	if s.Exists {
		item.Status = status.TerminatingStatus
		return outcome{item: item, message: "being deleted, to be recreated: " + s.Seen.Message, keepsBarrier: true, unwritten: true, health: decide.Health{Recreating: true}}, false, nil
	}
	create := l.create
	if gone {
		create = l.write // we have deleted it, so the owner need not confirm
	}
	o, err := create(ctx, t, s, decide.Decision{Action: decide.Create, Verb: d.Verb})
	return o, false, err
}

// mayRecreate returns a *RefusedError if an object must not be recreated. The decision must be repeated (again) if the
// object has changed since it was observed.
func (l *live) mayRecreate(ctx context.Context, t *prepare.Object, s decide.Situation) (again bool, err error) {
	item := l.call.Ledger.Of(t)
	var live *unstructured.Unstructured
	if guard.DependsOnContent(t.Key.GroupKind) {
		live, err = l.call.Server.Get(ctx, item)
		if execute.IsGone(err) || err == nil && live.GetResourceVersion() != s.Seen.ResourceVersion {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	reason, err := l.call.Losses.KeepsFromRecreation(ctx, item, s.Seen.UID, live)
	if err == nil && reason != "" {
		err = inventory.NewRefusedError(fmt.Sprintf("%s: %s", t.Key, reason))
	}
	return false, err
}
