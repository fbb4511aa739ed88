// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
)

// IsTakenOver reports whether the observed object is not ours, and is adopted from any owner.
func (s Situation) IsTakenOver() bool { return s.TakeOver && s.Seen.Owner != s.Owner }

// MayRecreate reports whether the observed object may be recreated if a field of it cannot be changed.
func (s Situation) MayRecreate(t *prepare.Object) bool {
	return s.Exists && (t.RecreateIfImmutable || t.Update == inventory.UpdatePolicyRecreate) && !s.IsTakenOver() && !t.Incomplete
}

// Situation is all that a decision about one object depends on, apart from its manifest and record.
type Situation struct {
	// Owner is the value of our owner label.
	Owner string
	// Exists means that Seen is an observation.
	Exists bool
	// Proven means that the server has answered, not just the cache.
	Proven bool
	// Typed means, if the object is proven not to exist, that the server serves its type in the recorded version.
	Typed bool
	Seen  observe.Observation
	// Live is the object, if it was read from the server. Decisions do not depend on it.
	Live *unstructured.Unstructured
	// Whose is the owner's ID according to the object's annotation, if the object was read from the server.
	Whose string
	// Named is that owner as messages name it; empty if they have the ID.
	Named string
	// Released means that the owner had the object and has orphaned it, if the object was read from the server.
	Released bool
	// Rival is who else claims the object, if the object was read from the server.
	Rival                    Rival
	Correction, Verification time.Duration
	// Ended is the outcome of the recorded object, which does not exist any more; empty if it is not known.
	Ended status.Status
	// Fight names the client that changes the object repeatedly; optional.
	Fight string
	// TakeOver means that the object is adopted from any owner.
	TakeOver bool
	// Relation says what the other owner of the object is to us; if the object does not exist, the owner that is
	// recorded as its holder. It is empty if that owner is not a sibling.
	Relation inventory.Relation
	// Holder is the ID of that owner.
	Holder string
	// WantedAs is the wanted object that this redundant one turned out to be; empty if it is none.
	WantedAs string
}

// unlabelled reports whether the observed object is the recorded one and was written by us, although our label is gone.
// The recorded UID proves nothing, because a user who may write the record can make it up.
func (s Situation) unlabelled(item *inventory.Item) bool {
	recorded := s.Seen.Owner == "" && item.UID != "" && s.Seen.UID == item.UID
	lost := s.Rival.operator == "" && (s.Whose == "" || manifest.OwnerLabel(s.Whose) == s.Owner)
	return recorded && lost && s.Seen.Fingerprint != ""
}
