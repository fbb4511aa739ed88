// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/types"
)

// CheckStale returns a *inventory.StaleError if what would be done now is something else than the plan.
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
	for _, object := range lacking(plan.Changes, now.Changes) {
		stale = append(stale, object+": "+inventory.ReasonNotInManifests)
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return &inventory.StaleError{Changes: stale}
	}
	return nil
}

// Expect makes the call keep to a plan, or to what is left of it.
func Expect(call *calls.Call, plan *inventory.Plan) {
	call.Pacing.Expected = calls.NewExpectation(call.Server, index(plan))
}

// index returns the changes of a plan by object.
func index(plan *inventory.Plan) map[types.ObjectID]*inventory.Change {
	changes := make(map[types.ObjectID]*inventory.Change, len(plan.Changes))
	for i := range plan.Changes {
		changes[types.IDOf(plan.Changes[i].Object)] = &plan.Changes[i]
	}
	return changes
}

// staleness says how a change differs from the planned one; empty if it does not.
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
	if text := calls.Differs(then, now); text != "" {
		return text
	}
	switch {
	case then.Refusal == "" && now.Refusal != "":
		return now.Refusal
	case len(then.DependsOn) > 0:
		// The plan could not know what would be done.
		return ""
	case then.Refusal == "" && then.Verb != now.Verb:
		return fmt.Sprintf("would be %s (%s), but %s in the plan", now.Verb, now.Reason, cmp.Or(then.Verb, "left alone"))
	default:
		return ""
	}
}

// lacking returns the wanted objects of the first plan that are unknown to the second.
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
