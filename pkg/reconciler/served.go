// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
)

// unknownTypeError says that it cannot be told whether there are objects of a type. Such a type must never be taken for gone.
type unknownTypeError struct {
	kind schema.GroupKind
	err  error
}

func (e *unknownTypeError) Error() string {
	return fmt.Sprintf("it is not known whether there are objects of type %s: %s", e.kind, e.err)
}

func (e *unknownTypeError) Unwrap() error { return e.err }

func isUnknownType(err error) bool {
	var unknown *unknownTypeError
	return errors.As(err, &unknown)
}

// groups is what a pass has asked about API groups.
type groups struct {
	mu    sync.Mutex
	known map[string]*groupAnswer
}

type groupAnswer struct {
	once  sync.Once
	group *cluster.Group
	err   error
}

func (g *groups) answer(name string) *groupAnswer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[string]*groupAnswer{}
	}
	if g.known[name] == nil {
		g.known[name] = &groupAnswer{}
	}
	return g.known[name]
}

// group asks the server, once in a pass, which types of a group it serves, and has the client know.
func (p *pass) group(ctx context.Context, name string) (*cluster.Group, error) {
	answer := p.groups.answer(name)
	answer.once.Do(func() {
		answer.err = p.readAnyway(func(clnt cluster.Client) (err error) {
			answer.group, err = cluster.ReadGroup(ctx, clnt.DiscoveryClient(), name)
			return err
		})
		if answer.err == nil {
			cluster.LearnTypes(p.client.RESTMapper(), answer.group)
		}
	})
	return answer.group, answer.err
}

// served returns how a type is served now, in the preferred version first. It returns nothing only if no version of the type is served,
// and no CustomResourceDefinition defines it that is not being deleted: then there are no objects that anybody could see. If the
// server does not say so, the error is an *unknownTypeError, or a *RefusedError if a definition serves no version.
func (p *pass) served(ctx context.Context, kind schema.GroupKind) ([]*meta.RESTMapping, error) {
	group, err := p.group(ctx, kind.Group)
	if err != nil {
		return nil, &unknownTypeError{kind: kind, err: err}
	}
	if mappings := group.Mappings(kind.Kind); len(mappings) > 0 {
		return mappings, nil
	}
	if err := group.Failure(); err != nil {
		return nil, &unknownTypeError{kind: kind, err: err}
	}
	crd, err := p.definition(ctx, kind)
	if err != nil || crd == nil {
		return nil, err
	}
	if version := servedVersion(crd); version != "" {
		return nil, &unknownTypeError{kind: kind, err: fmt.Errorf("it is defined in version %s, and not served yet", version)}
	}
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return nil, refused(fmt.Sprintf("CustomResourceDefinition %s: serves no version, so that it cannot be seen whether there are instances of it; let it serve one of: %s",
		crd.GetName(), strings.Join(stored, ", ")))
}

// definition returns the CustomResourceDefinition of a type, unless it is being deleted, or was never served, so that there cannot be
// instances; nil if there is none.
func (p *pass) definition(ctx context.Context, kind schema.GroupKind) (*unstructured.Unstructured, error) {
	p.definitionsOnce.Do(func() {
		p.definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: groupCRD, Version: "v1", Kind: "CustomResourceDefinitionList"})
		p.definitionsErr = p.readAnyway(func(clnt cluster.Client) error { return clnt.List(ctx, &p.definitions) })
	})
	if p.definitionsErr != nil {
		return nil, fmt.Errorf("listing definitions of types: %w", p.definitionsErr)
	}
	for i := range p.definitions.Items {
		crd := &p.definitions.Items[i]
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group == kind.Group && name == kind.Kind && crd.GetDeletionTimestamp() == nil && isEstablished(crd) {
			return crd, nil
		}
	}
	return nil, nil
}

// isEstablished reports whether a type was ever served: what is established stays so.
func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" {
			return fields["status"] == "True"
		}
	}
	return false
}

// servedVersion returns the first version that is served, or "".
func servedVersion(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		version, _ := version.(map[string]any)
		if isServed, _, _ := unstructured.NestedBool(version, "served"); isServed {
			name, _, _ := unstructured.NestedString(version, "name")
			return name
		}
	}
	return ""
}

// lookServed is look for an object that is to go. That there is no such object is said by the server only.
func (p *pass) lookServed(ctx context.Context, item *InventoryItem) (situation, error) {
	seen, view := p.cache.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view == observe.Present && !p.expired(seen) {
		return situation{owner: p.label, exists: true, seen: seen}, nil
	}
	s, err := p.askServed(ctx, item)
	if view == observe.Present && err == nil && s.exists {
		p.cache.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.seen)
	}
	return s, err
}

// askServed is ask for an object that is to go: as the identity that may look, and in whatever version the object is served. The item
// goes over to that version. The object does not exist only if the server says so, or does not serve the type at all.
func (p *pass) askServed(ctx context.Context, item *InventoryItem) (situation, error) {
	s, err := p.askAnyway(ctx, item)
	if err != nil || s.exists || s.typed {
		return s, err
	}
	kind := item.GroupVersionKind().GroupKind()
	mappings, err := p.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return s, err
	}
	asked := false
	for _, mapping := range mappings {
		if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (item.Namespace != "") {
			continue
		}
		asked = true
		probe := *item
		probe.Version = mapping.GroupVersionKind.Version
		found, err := p.askAnyway(ctx, &probe)
		if err != nil {
			return s, err
		}
		if found.exists || found.typed {
			item.Version = probe.Version
			return found, nil
		}
	}
	if asked {
		return s, &unknownTypeError{kind: kind, err: errors.New("the versions that are said to be served are not")}
	}
	return s, p.checkScope(ctx, item)
}

// checkScope returns an error unless it is certain that the scope of a type is not that of an object any more: then the object has gone
// with the definition that had its scope.
func (p *pass) checkScope(ctx context.Context, item *InventoryItem) error {
	kind := item.GroupVersionKind().GroupKind()
	crd, err := p.definition(ctx, kind)
	if err != nil || crd == nil {
		return err
	}
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	if (scope == "Namespaced") == (item.Namespace != "") {
		return &unknownTypeError{kind: kind, err: fmt.Errorf("it is defined with scope %s, and not served with it yet", scope)}
	}
	return nil
}
