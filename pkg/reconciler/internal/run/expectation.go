// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Expect makes the call keep to a plan, or to what is left of it.
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

// differs says how the state of an object differs from the one that a change was planned for; empty if it does not.
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

// contentFingerprint is a hash of all that a plan shows of an object; empty if that cannot be encoded.
func contentFingerprint(object *unstructured.Unstructured, keys prepare.Keys) string {
	sum, err := manifest.Digest(execute.Presentable(object, keys).Object)
	if err != nil {
		return ""
	}
	return sum[:len(sum)/2]
}

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
