// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decisions

import (
	"time"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
)

// Seizes reports whether the object that was seen belongs to somebody else, and is to be taken over in any case.
func (s Situation) Seizes() bool { return s.TakeOver && s.Seen.Owner != s.Owner }

// Situation is all that a decision about one wanted object depends on, besides manifest and record.
type Situation struct {
	// Owner is the value of our owner label.
	Owner string
	// Exists reports whether there is an observation.
	Exists bool
	// Proven means, if it does not exist, that the server said so, not just the cache.
	Proven bool
	// Typed means, if that is proven, that the server knows the type: it is not just the recorded version that is not served.
	Typed bool
	// Seen is the observation.
	Seen observe.Observation
	// Whose is the owner, if the server was asked, and tells.
	Whose string
	// Rival is who else claims the object, if the server was asked.
	Rival Rival
	// Correction and verification are how long the next one must wait; zero if it may happen now.
	Correction, Verification time.Duration
	// Fight names who changes the object again and again; empty if nobody does.
	Fight string
	// TakeOver means that it does not matter who owns the object.
	TakeOver bool
	// WantedAs is the wanted object that an unwanted one turned out to be; empty if it is none.
	WantedAs string
}

// unlabelled reports whether the object that was seen is the recorded one, and was written by us, although our label is gone. The
// recorded UID alone proves nothing, because whoever may write the record can make it up.
func (s Situation) unlabelled(item *inventory.Item) bool {
	recorded := s.Seen.Owner == "" && item.UID != "" && s.Seen.UID == item.UID
	lost := s.Rival.operator == "" && (s.Whose == "" || digest.OwnerLabel(s.Whose) == s.Owner)
	return recorded && lost && s.Seen.Fingerprint != ""
}
