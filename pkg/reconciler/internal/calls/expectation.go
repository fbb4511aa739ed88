// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/marks"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

// Expectation is the plan that a call of Apply keeps to. Nil expects nothing.
type Expectation struct {
	server  *server.Server
	changes map[types.ObjectID]*inventory.Change
}

// NewExpectation returns the expectation that a call makes the changes, and no others.
func NewExpectation(server *server.Server, changes map[types.ObjectID]*inventory.Change) *Expectation {
	return &Expectation{server: server, changes: changes}
}

// Of returns what is planned for an object; nil if the call need not keep to a plan.
func (e *Expectation) Of(key types.ObjectID) *inventory.Change {
	if e == nil {
		return nil
	}
	return e.changes[key]
}

// AsExpected returns a *StaleError if an object is not in the state that the plan was made for. It may read the object, and then
// returns the new situation.
func (e *Expectation) AsExpected(ctx context.Context, item *inventory.Item, s decisions.Situation) (decisions.Situation, error) {
	key := types.IDOf(item)
	then := e.Of(key)
	if then == nil {
		return s, nil
	}
	unseen := !s.Exists && !s.Proven && then.UID != ""
	foreign := s.Exists && s.Seen.UID == then.UID && s.Seen.Fingerprint == "" && then.Fingerprint != ""
	if unseen || foreign {
		var err error
		if s, err = e.server.Ask(ctx, item); err != nil {
			return s, err
		}
	}
	var now inventory.Change
	NoteState(&now, s, e.server.Keys)
	if text := Differs(then, &now); text != "" {
		return s, &inventory.StaleError{Changes: []string{fmt.Sprintf("%s: %s", key, text)}}
	}
	return s, nil
}

// Differs says how the state of an object differs from the one that a change was planned for; empty if it does not.
func Differs(then, now *inventory.Change) string {
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
func NoteState(change *inventory.Change, s decisions.Situation, keys marks.Keys) {
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
func contentFingerprint(object *unstructured.Unstructured, keys marks.Keys) string {
	sum, err := digest.Of(Presentable(object, keys).Object)
	if err != nil {
		return ""
	}
	return sum[:len(sum)/2]
}

// Presentable returns a copy of an object without the status and the metadata that the server and the reconciler maintain; nil of
// nil.
func Presentable(object *unstructured.Unstructured, keys marks.Keys) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	RemoveKeys(object, "annotations", keys.Digest)
	return object
}

// RemoveKeys removes labels or annotations.
func RemoveKeys(object *unstructured.Unstructured, field string, keys ...string) {
	entries, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field)
	content, _ := entries.(map[string]any)
	for _, key := range keys {
		delete(content, key)
	}
	if len(content) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
}
