// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
)

// view is what is known about an object, and, if the server was asked, the object.
type view struct {
	situation
	live *unstructured.Unstructured
}

// saw notes the state on which a change is decided. An object that is being deleted is as good as gone.
func (p *pass) saw(change *Change, v view) {
	change.UID, change.Fingerprint, change.Baseline = "", "", ""
	if !v.exists || v.seen.Deleting {
		return
	}
	change.UID, change.Fingerprint, change.Baseline = v.seen.UID, v.seen.Fingerprint, v.seen.Baseline()
	if v.live != nil && change.Fingerprint == "" {
		change.Fingerprint = p.contentFingerprint(v.live)
	}
}

// contentFingerprint identifies all that a plan shows of an object; empty if that cannot be encoded.
func (p *pass) contentFingerprint(object *unstructured.Unstructured) string {
	sum, err := digest.Of(p.presentable(object).Object)
	if err != nil {
		return ""
	}
	return sum[:len(sum)/2]
}

// watchServed tells the observer of all kinds that the server knows.
func (p *planner) watchServed(ctx context.Context) error {
	var known []*target
	for _, t := range p.targets {
		served, found := p.known[t.gvk()]
		if !found {
			var err error
			if served, err = p.knows(t.gvk()); err != nil {
				return err
			}
			p.known[t.gvk()] = served
		}
		if served {
			known = append(known, t)
		}
	}
	return p.watch(ctx, known, stageInstances)
}

// knows tells whether the server knows a type.
func (p *planner) knows(gvk schema.GroupVersionKind) (bool, error) {
	_, err := p.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if cluster.IsNoMatch(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	}
	return true, nil
}

// absent tells whether an object cannot exist, because its namespace or its type does not.
func (p *planner) absent(item *InventoryItem) (bool, error) {
	if p.namespaces[item.Namespace] {
		return true, nil
	}
	if len(p.types.definitions(item.GroupVersionKind())) == 0 {
		return false, nil
	}
	if served, found := p.known[item.GroupVersionKind()]; found {
		return !served, nil
	}
	served, err := p.knows(item.GroupVersionKind())
	return !served, err
}

// regard returns what is known about an object, asking the server only if the observer cannot tell.
func (p *planner) regard(ctx context.Context, item *InventoryItem) (view, error) {
	absent, err := p.absent(item)
	if err != nil || absent {
		return view{situation: situation{owner: p.label, proven: true}}, err
	}
	seen, known := p.cache.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch {
	case known == observe.Present && !p.expired(seen) && seen.Owner != "":
		return view{situation: situation{owner: p.label, exists: true, seen: seen}}, nil
	case known == observe.Absent:
		return view{situation: situation{owner: p.label}}, nil
	default:
		return p.demand(ctx, item)
	}
}

// demand returns what the server says about an object, in whatever version it serves it.
func (p *planner) demand(ctx context.Context, item *InventoryItem) (view, error) {
	s, live, err := p.fetch(ctx, item)
	if err == nil && !s.exists && !s.typed {
		probe := *item // goes over to a version that is served
		if s, err = p.askServed(ctx, &probe); err == nil && s.exists {
			s, live, err = p.fetch(ctx, &probe)
		}
	}
	return view{situation: s, live: live}, err
}
