// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/types"
)

// Expect compares what a call is to do with a plan, and has the call keep to that. Otherwise it returns a *inventory.StaleError.
func Expect(ctx context.Context, call *calls.Call, wanted []*targets.Target, recorded []*inventory.Item, plan *inventory.Plan) error {
	now, err := newPlanner(call, wanted, recorded, depthAsked).plan(ctx)
	if err != nil {
		return err
	}
	expected := make(map[types.ObjectID]*inventory.Change, len(plan.Changes))
	for i := range plan.Changes {
		expected[types.IDOf(plan.Changes[i].Object)] = &plan.Changes[i]
	}
	var stale []string
	for i := range now.Changes {
		change := &now.Changes[i]
		then := expected[types.IDOf(change.Object)]
		if text := staleness(then, change); text != "" {
			stale = append(stale, fmt.Sprintf("%s: %s", change.Object, text))
		}
	}
	for _, object := range lacking(plan.Changes, now.Changes) {
		stale = append(stale, object+": is not among the objects any more")
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return &inventory.StaleError{Changes: stale}
	}
	call.Pacing.Expected = calls.NewExpectation(call.Server, expected)
	return nil
}

// staleness says how what is to be done differs from what was planned; empty if it does not.
func staleness(then, now *inventory.Change) string {
	switch {
	case now.Verb == "" && now.Refusal == "" && (then == nil || then.Digest == now.Digest):
		// Nothing is to be done, or nothing is left to be done.
		return ""
	case then == nil:
		return "is not part of the plan"
	case then.Digest != now.Digest:
		return "its manifest or its policies are not those of the plan"
	}
	if text := calls.Differs(then, now); text != "" {
		return text
	}
	switch {
	case then.Refusal == "" && now.Refusal != "":
		return now.Refusal
	case then.Refusal == "" && then.Verb != now.Verb:
		return fmt.Sprintf("would be %s (%s), and is planned to be %s", now.Verb, now.Reason, cmp.Or(then.Verb, "left alone"))
	default:
		return ""
	}
}

// lacking returns the wanted objects of a plan that are unknown now.
func lacking(then, now []inventory.Change) []string {
	known := make(map[types.ObjectID]bool, len(now))
	for _, change := range now {
		known[types.IDOf(change.Object)] = true
	}
	var objects []string
	for _, change := range then {
		if change.Digest != "" && !known[types.IDOf(change.Object)] {
			objects = append(objects, change.Object.String())
		}
	}
	return objects
}
