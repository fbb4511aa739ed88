// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/types"
)

// watchServed has the observer watch all kinds that are served.
func (p *planner) watchServed(ctx context.Context) error {
	var known []*desired.Object
	for _, t := range p.watched {
		served, found := p.known[t.GVK()]
		if !found {
			var err error
			if served, err = p.isServed(t.GVK()); err != nil {
				return err
			}
			p.known[t.GVK()] = served
		}
		if served {
			known = append(known, t)
		}
	}
	return p.call.Needs.Watch(ctx, known, desired.Instances)
}

// isServed reports whether the server serves a type.
func (p *planner) isServed(gvk schema.GroupVersionKind) (bool, error) {
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
func (p *planner) isImpossible(item *inventory.Item) (bool, error) {
	if p.preview.namespaces[item.Namespace] {
		return true, nil
	}
	if len(p.types.Definitions(item.GroupVersionKind())) == 0 {
		return false, nil
	}
	if served, found := p.known[item.GroupVersionKind()]; found {
		return !served, nil
	}
	served, err := p.isServed(item.GroupVersionKind())
	return !served, err
}

// look returns what is known about an object, and reads it only if the observer cannot tell.
func (p *planner) look(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	absent, err := p.isImpossible(item)
	if err != nil || absent {
		return decisions.Situation{Owner: p.call.Owner.Label, Proven: true}, err
	}
	seen, known := p.call.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch {
	case known == observe.Present && !p.call.Server.Outdated(types.IDOf(item), seen) && seen.Owner != "":
		return decisions.Situation{Owner: p.call.Owner.Label, Exists: true, Seen: seen}, nil
	case known == observe.Absent:
		return decisions.Situation{Owner: p.call.Owner.Label, Ended: p.call.Server.Ended(item)}, nil
	default:
		return p.read(ctx, item)
	}
}

// read reads an object about which something is to be decided. If the observer has an older state, it gets this one: otherwise, when the plan is carried out, the state that the
// decision was made for would count as a change by somebody else.
func (p *planner) read(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := p.fetch(ctx, item)
	if _, known := p.call.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name); err == nil && s.Exists && known == observe.Present {
		p.call.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	}
	return s, err
}

// fetch reads an object from the server, in any version that is served.
func (p *planner) fetch(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := p.call.Server.Ask(ctx, item)
	if err == nil && !s.Exists && !s.Typed {
		probe := *item // goes over to a version that is served
		if s, err = p.call.Server.AskServed(ctx, &probe); err == nil && s.Exists {
			return p.call.Server.Ask(ctx, &probe)
		}
	}
	return s, err
}
