// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// An API server may serve one object under several types, as it does with Events (v1 and events.k8s.io/v1). Then two records, or two
// manifests, can be about the same object. Only its UID tells.

// aliases knows under which type each wanted object goes. It is safe for concurrent use; nil knows nothing.
type aliases struct {
	mu     sync.Mutex
	wanted map[apitypes.UID]objectKey
}

// newAliases returns what is recorded about the wanted objects, or nil if nothing is to be written and nothing is redundant: it is not
// worth the work then. It refuses objects that are recorded as being one.
func newAliases(wanted, items []*InventoryItem) (*aliases, error) {
	if !slices.ContainsFunc(items, func(item *InventoryItem) bool { return item.unwanted() || item.Phase == PhaseScheduledForApplication }) {
		return nil, nil
	}
	known := &aliases{wanted: make(map[apitypes.UID]objectKey, len(wanted))}
	var problems []string
	for _, item := range wanted {
		if item.Phase == PhaseCompleted {
			continue
		}
		if other, same := known.take(item.UID, keyOf(item)); same {
			problems = append(problems, aliasText(keyOf(item), other))
		}
	}
	if len(problems) > 0 {
		return nil, refused(problems...)
	}
	return known, nil
}

// take notes that a wanted object has the UID, and returns another one that has it, too.
func (a *aliases) take(uid apitypes.UID, key objectKey) (other objectKey, same bool) {
	if a == nil || uid == "" {
		return objectKey{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	other, known := a.wanted[uid]
	if !known {
		a.wanted[uid] = key
	}
	return other, known && other != key
}

// of returns the wanted object that has the UID; empty if there is none.
func (a *aliases) of(uid apitypes.UID) string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if key, known := a.wanted[uid]; known {
		return key.explicit()
	}
	return ""
}

// explicit is String with the group of the type, which messages leave out for groups of Kubernetes.
func (k objectKey) explicit() string { return fmt.Sprintf("%s of %s", k, k.groupText()) }

func (k objectKey) groupText() string {
	if k.Group == "" {
		return "the core group"
	}
	return "group " + k.Group
}

func aliasText(key, other objectKey) string {
	return fmt.Sprintf("%s: in %s, it is the same object as %s, which is defined as well; leave one of them out", key, key.groupText(), other.explicit())
}

// refuseAliases says which of the wanted objects turned out to be another one.
func (p *planner) refuseAliases(changes []Change) {
	for i, t := range p.targets {
		change := &changes[i]
		if other, same := p.aliases.take(change.UID, t.key); same && change.Refusal == "" {
			change.Verb, change.Reason, change.Recreate, change.Before, change.After = "", "", false, nil, nil
			change.Refusal = strings.TrimPrefix(aliasText(t.key, other), t.key.String()+": ")
		}
	}
}

// refuseAlias returns a *RefusedError if the object that is about to be written, or was written, is another wanted one.
func (p *pass) refuseAlias(t *target, uid apitypes.UID) error {
	if other, same := p.aliases.take(uid, t.key); same {
		return refused(aliasText(t.key, other))
	}
	return nil
}

// refuseAliasOf is refuseAlias for an object that was seen, if the decision is to write to it.
func (p *pass) refuseAliasOf(t *target, s situation, d decision) error {
	if !s.exists || !d.action.writes() {
		return nil
	}
	return p.refuseAlias(t, s.seen.UID)
}
