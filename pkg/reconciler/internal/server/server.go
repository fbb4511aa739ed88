// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/types"
)

// Server is how one call makes requests about dependents, and what it has learned by them. It is safe for concurrent use.
type Server struct {
	Config

	Label  string // value of the owner label
	Flow   *flow.Limiter
	Permit func() error // says whether there may be a request that changes something; nil if there may

	groups          groups
	definitionsOnce sync.Once // guards what follows; see definition
	definitions     unstructured.UnstructuredList
	definitionsErr  error
}

// Read makes a request that changes nothing.
func (api *Server) Read(send func() error) error {
	return api.request("read", send)
}

// Mutate makes a request that may change something. By now, everything was observed that the request is guarded by; if the
// owner passes to somebody else only after this check, the guard fails as soon as that one has changed the object. (It does not
// for a create, if that one has found that there is no such object and does not want it.)
func (api *Server) Mutate(operation string, send func() error) error {
	if api.Permit != nil {
		if err := api.Permit(); err != nil {
			return err
		}
	}
	return api.request(operation, send)
}

// request counts a request and learns from how it fared how many should be under way at once.
func (api *Server) request(operation string, send func() error) error {
	api.OnOperation(operation)
	sent := time.Now()
	err := send()
	var status apierrors.APIStatus
	switch {
	case apierrors.IsTooManyRequests(err):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		api.Flow.Rejected(sent, time.Duration(seconds)*time.Second)
	case err == nil || errors.As(err, &status):
		api.Flow.Answered(sent, time.Since(sent))
	}
	return err
}

// Look returns what is known about a dependent, asking the server only if the observer cannot tell.
func (api *Server) Look(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s := decisions.Situation{Owner: api.Label}
	seen, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch view {
	case observe.Present:
		if api.Expired(seen) {
			return api.judge(ctx, item)
		}
		if seen.Owner == "" {
			// The observer does not follow objects without our label.
			return api.Ask(ctx, item)
		}
		s.Exists, s.Seen = true, seen
		return s, nil
	case observe.Absent:
		return s, nil
	case observe.Unseen:
		return api.Ask(ctx, item)
	default:
		return api.Ask(ctx, item)
	}
}

// Expired reports whether the verdict about an object may be another one by now, although nothing happened to it.
func (api *Server) Expired(seen observe.Observation) bool {
	return !seen.Deadline.IsZero() && !api.Clock.Now().Before(seen.Deadline)
}

// judge has the object judged anew, and the observer know the verdict.
func (api *Server) judge(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := api.Ask(ctx, item)
	if err == nil && s.Exists {
		api.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	}
	return s, err
}

// Ask returns what the server says about a dependent.
func (api *Server) Ask(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, _, err := api.Fetch(ctx, item)
	return s, err
}

// Fetch is ask that also returns the object; nil if there is none.
func (api *Server) Fetch(ctx context.Context, item *inventory.Item) (decisions.Situation, *unstructured.Unstructured, error) {
	object, err := api.Get(ctx, item)
	s, err := api.situationOf(object, err)
	if !s.Exists {
		object = nil
	}
	return s, object, err
}

// situationOf is what the answer to a request for an object says.
func (api *Server) situationOf(object *unstructured.Unstructured, err error) (decisions.Situation, error) {
	s := decisions.Situation{Owner: api.Label, Proven: true}
	if answers.IsGone(err) {
		s.Typed = !answers.IsTypeless(err)
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Exists, s.Seen, s.Whose = true, api.Reader.Read(object), object.GetAnnotations()[api.Keys.OwnerAnnotation]
	s.Rival = decisions.RivalOf(object, api.Keys)
	return s, nil
}

// Get reads a dependent from the server.
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
