// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Server makes the requests of one call about dependents, and keeps what it discovers. It is safe for concurrent use.
type Server struct {
	Config

	Label       string       // value of the owner label
	Concurrency int          // the maximum number of concurrent requests
	Permit      func() error // is called before each write; an error forbids it; may be nil

	groups          sync.Map  // functions that return the discovered API groups, by name
	definitionsOnce sync.Once // guards the fields below; see definition
	definitions     unstructured.UnstructuredList
	definitionsErr  error
}

// Read makes a request that changes nothing.
func (api *Server) Read(send func() error) error {
	api.OnOperation("read")
	return send()
}

// Mutate makes a request that may change something. The caller has already observed what the request is guarded by. If
// another process takes over the owner only after the permission, the guard fails as soon as that process has changed
// the object. (A create has no guard that would fail if the other process does not want the object, and found that it
// does not exist.)
func (api *Server) Mutate(operation string, send func() error) error {
	if api.Permit != nil {
		if err := api.Permit(); err != nil {
			return err
		}
	}
	api.OnOperation(operation)
	return send()
}

// Look returns what is known about a dependent, and reads it only if the observer cannot tell.
func (api *Server) Look(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	if s, ok := api.Known(item); ok {
		return s, nil
	}
	s, err := api.Ask(ctx, item)
	api.Renew(item, s, err)
	return s, err
}

// Known returns what the observer knows about a dependent; ok means that it need not be read. The observer does not
// watch objects without our label.
func (api *Server) Known(item *inventory.Item) (s decide.Situation, ok bool) {
	seen, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch {
	case view == observe.Absent:
		return decide.Situation{Owner: api.Label, Ended: api.Ended(item)}, true
	case view == observe.Present && seen.Owner != "" && !api.Outdated(types.IDOf(item), seen):
		return decide.Situation{Owner: api.Label, Exists: true, Seen: seen}, true
	default:
		return s, false
	}
}

// Renew gives the observer an answer of the server about an object that it has an older state of, or another status.
func (api *Server) Renew(item *inventory.Item, s decide.Situation, err error) {
	if _, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name); err == nil && s.Exists && view == observe.Present {
		api.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	}
}

// Outdated reports whether the status of an object has to be computed again although the object is the same: because of
// the time, or because other rules hold for the owner now.
func (api *Server) Outdated(id types.ObjectID, seen observe.Observation) bool {
	return !seen.Deadline.IsZero() && !api.Clock.Now().Before(seen.Deadline) || seen.Owner == api.Label && seen.Rules != api.Judges.Rules(api.Label, id)
}

// Ask reads a dependent from the server.
func (api *Server) Ask(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	object, err := api.Get(ctx, item)
	s, err := api.situationOf(object, err)
	if !s.Exists {
		s.Ended = api.Ended(item)
	}
	return s, err
}

// Ended returns the outcome of a recorded Job or Pod that is gone, as far as the observer knows it.
func (api *Server) Ended(item *inventory.Item) status.Status {
	last, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view != observe.Absent || item.UID == "" || last.UID != item.UID {
		return ""
	}
	return last.Outcome
}

// situationOf returns the situation according to the answer of the server.
func (api *Server) situationOf(object *unstructured.Unstructured, err error) (decide.Situation, error) {
	s := decide.Situation{Owner: api.Label, Proven: true}
	if IsGone(err) {
		s.Typed = !IsTypeless(err)
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Exists, s.Live = true, object
	s.Seen, s.Whose = api.Reader.Read(object), object.GetAnnotations()[api.Keys.OwnerAnnotation]
	s.Named = api.named(s.Whose)
	s.Released = object.GetAnnotations()[api.Keys.Digest] == prepare.DigestReleased+api.Label
	s.Rival = decide.RivalOf(object, api.Keys)
	return s, nil
}

// named returns the owner with the ID as messages name it; empty if they have the ID.
func (api *Server) named(owner string) string {
	_, name, found := strings.Cut(owner, "/")
	if api.OwnerKind == "" || !found {
		return ""
	}
	return api.OwnerKind + " " + strings.TrimPrefix(name, "/")
}

// Get returns a dependent from the server.
func (api *Server) Get(ctx context.Context, item *inventory.Item) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := api.Read(func() (err error) {
		object, err = LookUp(ctx, api.Client, item)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", types.IDOf(item), err)
	}
	return object, nil
}
