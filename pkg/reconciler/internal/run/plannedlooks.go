// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// mustRead reports whether the object must be read before the decision counts.
func (p *planned) mustRead(t *prepare.Object, d decide.Decision, s decide.Situation) bool {
	if s.Live != nil {
		return false
	}
	depth := p.depthOf(t)
	switch d.Action {
	case decide.Ask:
		return true
	case decide.Refuse:
		return depth >= depthAsked && isOwnerUnknown(s)
	case decide.Create:
		return p.asksBeforeCreation(t) && !s.Proven
	case decide.Write, decide.Recreate, decide.Mark:
		return depth == depthCompared || depth == depthAsked && d.Verb == inventory.VerbAdopted
	case decide.Verify, decide.Compare:
		return depth == depthCompared
	case decide.Keep, decide.Report:
		return depth == depthCompared && p.preview.IsLeftAlone(t, d, s)
	case decide.Await, decide.Complete, decide.Dismiss, decide.Cede:
		return false
	default:
		return false
	}
}

// asksBeforeCreation reports whether an object is read that the cache does not show: without our label, it may exist.
// Its creation by a dry run would show that, too.
func (p *planned) asksBeforeCreation(t *prepare.Object) bool {
	depth := p.depthOf(t)
	return depth == depthAsked || depth == depthCompared && p.preview.IsLocal(t)
}

// isOwnerUnknown reports whether the cache does not show whose an object is, apart from parts of records.
func isOwnerUnknown(s decide.Situation) bool { return !s.Proven && s.Seen.Record == "" }

// lookAgain reads an object. Since a plan is not repeated, it waits before that if another client has changed the
// object.
func (p *planned) lookAgain(ctx context.Context, item *inventory.Item, last decide.Situation, attempt int) (decide.Situation, error) {
	if last.Live != nil {
		if err := pause(ctx, retryPause<<attempt); err != nil {
			return last, fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
		}
	}
	return p.read(ctx, item)
}

// lookForEnd looks at an object once.
func (p *planned) lookForEnd(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	e := p.entries[types.IDOf(item)]
	if e.closed {
		return decide.Situation{Owner: p.call.Owner.Label}, nil
	}
	if !e.looked {
		e.seen, e.err = p.look(ctx, item)
		e.looked = true
	}
	if e.err == nil && e.seen.Live == nil && !e.seen.Proven && (p.depth == depthCompared || p.depth == depthAsked && !e.seen.Exists) {
		e.seen, e.err = p.read(ctx, item)
	}
	return e.seen, e.err
}

// retryPause is how long to wait before repeating a dry run for the first time because the object has changed; it
// doubles each time. A controller at work may write an object's status several times within a second.
const retryPause = 100 * time.Millisecond

// pause waits, unless the context ends first.
func pause(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// openInstances has the observer watch all instances whose types are served.
func (p *planned) openInstances(ctx context.Context, members []*prepare.Object) (placed bool, err error) {
	var known []*prepare.Object
	for _, t := range members {
		served, found := p.served[t.GVK()]
		if !found {
			if served, err = p.isServed(t.GVK()); err != nil {
				return false, err
			}
			p.served[t.GVK()] = served
		}
		if served {
			known = append(known, t)
		}
	}
	return true, p.call.Needs.Watch(ctx, known, prepare.Instances)
}

// isServed reports whether the server serves a type.
func (p *planned) isServed(gvk schema.GroupVersionKind) (bool, error) {
	_, err := p.call.Server.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if cluster.IsNoMatch(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	}
	return true, nil
}

// isImpossible reports whether an object cannot exist because its namespace or its type does not.
func (p *planned) isImpossible(item *inventory.Item) (bool, error) {
	if p.preview.IsNewNamespace(item.Namespace) {
		return true, nil
	}
	if len(p.types.Definitions(item.GroupVersionKind())) == 0 {
		return false, nil
	}
	if served, found := p.served[item.GroupVersionKind()]; found {
		return !served, nil
	}
	served, err := p.isServed(item.GroupVersionKind())
	return !served, err
}

// look returns what is known about an object, and reads it only if the observer cannot tell.
func (p *planned) look(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	absent, err := p.isImpossible(item)
	if err != nil || absent {
		return decide.Situation{Owner: p.call.Owner.Label, Proven: true}, err
	}
	if s, ok := p.call.Server.Known(item); ok {
		return s, nil
	}
	return p.read(ctx, item)
}

// read reads an object about which something is to be decided. If the observer has an older state, it gets this one:
// otherwise, when the plan is carried out, the state that the decision was made for would count as a change by somebody
// else.
func (p *planned) read(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := p.fetch(ctx, item)
	p.call.Server.Renew(item, s, err)
	return s, err
}

// fetch reads an object from the server, in any version that is served.
func (p *planned) fetch(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := p.call.Server.Ask(ctx, item)
	if err == nil && !s.Exists && !s.Typed {
		probe := *item // goes over to a version that is served
		if s, err = p.call.Server.AskServed(ctx, &probe); err == nil && s.Exists {
			return p.call.Server.Ask(ctx, &probe)
		}
	}
	return s, err
}
