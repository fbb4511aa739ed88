// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// StaleError ends a call of Apply because what it would do is not what was planned. If that was so from the beginning, nothing was
// written; otherwise an object changed while the call was about to write it, and what was done before stands.
//
// An object has changed if it is another one, or if others changed or removed fields that we own (of an object of which we own
// nothing: any field). Where field ownership is not tracked, its generation counts. A change of the status is none.
type StaleError struct {
	// Changes are texts that name the object and what differs; sorted.
	Changes []string
}

// Error returns the changes, separated by semicolons.
func (e *StaleError) Error() string {
	return "the plan does not fit any more: " + strings.Join(e.Changes, "; ")
}

// expect compares what is to be done with the plan of the request, if it has one, and has the pass keep to that.
func (p *pass) expect(ctx context.Context, c *course, request ApplyRequest) error {
	if request.Expected == nil {
		return nil
	}
	now, err := newPlanner(c, request.Inventory, depthAsked).plan(ctx)
	if err != nil {
		return err
	}
	expected := make(map[objectKey]*Change, len(request.Expected.Changes))
	for i := range request.Expected.Changes {
		expected[keyOf(request.Expected.Changes[i].Object)] = &request.Expected.Changes[i]
	}
	var stale []string
	for i := range now.Changes {
		change := &now.Changes[i]
		then := expected[keyOf(change.Object)]
		if text := staleness(then, change); text != "" {
			stale = append(stale, fmt.Sprintf("%s: %s", change.Object, text))
		}
	}
	for _, object := range lacking(request.Expected.Changes, now.Changes) {
		stale = append(stale, object+": is not among the objects any more")
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return &StaleError{Changes: stale}
	}
	p.expected = expected
	return nil
}

// staleness says how what is to be done differs from what was planned; empty if it does not.
func staleness(then, now *Change) string {
	switch {
	case now.Verb == "" && now.Refusal == "" && (then == nil || then.Digest == now.Digest):
		// Nothing is to be done, or nothing is left to be done.
		return ""
	case then == nil:
		return "is not part of the plan"
	case then.Digest != now.Digest:
		return "its manifest or its policies are not those of the plan"
	}
	if text := differs(then, now); text != "" {
		return text
	}
	switch {
	case then.Refusal == "" && now.Refusal != "":
		return now.Refusal
	case then.Refusal == "" && then.Verb != now.Verb:
		return fmt.Sprintf("would be %s (%s), and is planned to be %s", now.Verb, now.Reason, orDefault(then.Verb, "left alone"))
	default:
		return ""
	}
}

// differs says how the state of an object differs from the one on which a change was planned; empty if it does not.
func differs(then, now *Change) string {
	switch {
	case then.UID == now.UID:
	case then.UID == "":
		return "exists by now"
	case now.UID == "":
		return "does not exist any more, or is being deleted"
	default:
		return "was deleted, and created anew"
	}
	same := then.Baseline == now.Baseline
	if then.Fingerprint != "" && now.Fingerprint != "" {
		same = then.Fingerprint == now.Fingerprint
	}
	if !same {
		return "was changed by others since it was planned"
	}
	return ""
}

// lacking returns the wanted objects of a plan that are unknown now.
func lacking(then, now []Change) []string {
	known := make(map[objectKey]bool, len(now))
	for _, change := range now {
		known[keyOf(change.Object)] = true
	}
	var objects []string
	for _, change := range then {
		if change.Digest != "" && !known[keyOf(change.Object)] {
			objects = append(objects, change.Object.String())
		}
	}
	return objects
}

// asExpected returns a *StaleError if an object is not the one for which the plan was made. It may find out more about the object.
func (p *pass) asExpected(ctx context.Context, item *InventoryItem, s situation) (situation, error) {
	key := keyOf(item)
	then := p.expected[key]
	if then == nil {
		return s, nil
	}
	v := view{situation: s}
	unseen := !s.exists && !s.proven && then.UID != ""
	foreign := s.exists && s.seen.UID == then.UID && s.seen.Fingerprint == "" && then.Fingerprint != ""
	if unseen || foreign {
		var err error
		if v.situation, v.live, err = p.fetch(ctx, item); err != nil {
			return s, err
		}
	}
	var now Change
	p.saw(&now, v)
	if text := differs(then, &now); text != "" {
		return s, &StaleError{Changes: []string{fmt.Sprintf("%s: %s", key, text)}}
	}
	return v.situation, nil
}
