// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Aliases finds wanted objects that are the same object: an API server may serve one object under several types, as it
// does with Events (v1 and events.k8s.io/v1), and only the UID shows it. It is safe for concurrent use; nil finds
// nothing.
type Aliases struct {
	mu     sync.Mutex
	wanted map[apitypes.UID]types.ObjectID
}

// NewAliases returns the aliases of the recorded wanted objects. It returns nil if nothing is to be written or deleted,
// because the check is not worth the work then. It refuses wanted objects that are recorded with the same UID.
func NewAliases(wanted, items []*inventory.Item) (*Aliases, error) {
	if !slices.ContainsFunc(items, func(item *inventory.Item) bool {
		return decide.IsRedundant(item) || item.Phase == inventory.PhaseScheduledForApplication
	}) {
		return nil, nil
	}
	known := &Aliases{wanted: make(map[apitypes.UID]types.ObjectID, len(wanted))}
	var problems []string
	for _, item := range wanted {
		if item.Phase == inventory.PhaseCompleted {
			continue
		}
		if other, same := known.Take(item.UID, types.IDOf(item)); same {
			problems = append(problems, aliasText(types.IDOf(item), other))
		}
	}
	if len(problems) > 0 {
		return nil, inventory.NewRefusedError(problems...)
	}
	return known, nil
}

// Take notes the UID of a wanted object, and returns another wanted object with the same UID.
func (a *Aliases) Take(uid apitypes.UID, key types.ObjectID) (other types.ObjectID, same bool) {
	if a == nil || uid == "" {
		return types.ObjectID{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	other, known := a.wanted[uid]
	if !known {
		a.wanted[uid] = key
	}
	return other, known && other != key
}

// Refusal says why a wanted object with this UID is refused; empty if it is not.
func (a *Aliases) Refusal(t *prepare.Object, uid apitypes.UID) string {
	if other, same := a.Take(uid, t.Key); same {
		return strings.TrimPrefix(aliasText(t.Key, other), t.Key.String()+": ")
	}
	return ""
}

// Of returns the wanted object with this UID; empty if there is none.
func (a *Aliases) Of(uid apitypes.UID) string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if key, known := a.wanted[uid]; known {
		return explicit(key)
	}
	return ""
}

// explicit is ObjectID.String with the API group, which messages leave out for groups of Kubernetes.
func explicit(k types.ObjectID) string { return fmt.Sprintf("%s of %s", k, groupText(k)) }

func groupText(k types.ObjectID) string {
	if k.Group == "" {
		return "the core group"
	}
	return "group " + k.Group
}

func aliasText(key, other types.ObjectID) string {
	return fmt.Sprintf("%s: in %s, it is the same object as %s, which is also declared; remove one of them", key, groupText(key), explicit(other))
}

// Refuse returns a *RefusedError if the object with this UID is another wanted object, too.
func (a *Aliases) Refuse(t *prepare.Object, uid apitypes.UID) error {
	if refusal := a.Refusal(t, uid); refusal != "" {
		return inventory.NewRefusedError(t.Key.String() + ": " + refusal)
	}
	return nil
}

// RefuseWrite is Refuse for an object that a decision would write to.
func (a *Aliases) RefuseWrite(t *prepare.Object, s decide.Situation, d decide.Decision) error {
	if !s.Exists || !d.Action.Writes() {
		return nil
	}
	return a.Refuse(t, s.Seen.UID)
}
