// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package server

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
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
)

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
func (api *Server) group(ctx context.Context, name string) (*cluster.Group, error) {
	answer := api.groups.answer(name)
	answer.once.Do(func() {
		answer.err = api.ReadAnyway(func(clnt cluster.Client) (err error) {
			answer.group, err = cluster.ReadGroup(ctx, clnt.DiscoveryClient(), name)
			return err
		})
		if answer.err == nil {
			cluster.LearnTypes(api.Client.RESTMapper(), answer.group)
		}
	})
	return answer.group, answer.err
}

// served returns how a type is served now, in the preferred version first. It returns nothing only if no version of the type is served,
// and no CustomResourceDefinition defines it that is not being deleted: then there are no objects that anybody could see. If the
// server does not say so, the error is an *unknownTypeError, or a *RefusedError if a definition serves no version.
func (api *Server) served(ctx context.Context, kind schema.GroupKind) ([]*meta.RESTMapping, error) {
	group, err := api.group(ctx, kind.Group)
	if err != nil {
		return nil, &answers.UnknownTypeError{Kind: kind, Err: err}
	}
	if mappings := group.Mappings(kind.Kind); len(mappings) > 0 {
		return mappings, nil
	}
	if err := group.Failure(); err != nil {
		return nil, &answers.UnknownTypeError{Kind: kind, Err: err}
	}
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return nil, err
	}
	if version := servedVersion(crd); version != "" {
		return nil, &answers.UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined in version %s, and not served yet", version)}
	}
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return nil, inventory.NewRefusedError(fmt.Sprintf(
		"CustomResourceDefinition %s: serves no version, so that it cannot be seen whether there are instances of it; let it serve one of: %s",
		crd.GetName(), strings.Join(stored, ", ")))
}

// definition returns the CustomResourceDefinition of a type, unless it is being deleted, or was never served, so that there cannot be
// instances; nil if there is none.
func (api *Server) definition(ctx context.Context, kind schema.GroupKind) (*unstructured.Unstructured, error) {
	api.definitionsOnce.Do(func() {
		api.definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: kinds.GroupCRD, Version: "v1", Kind: "CustomResourceDefinitionList"})
		api.definitionsErr = api.ReadAnyway(func(clnt cluster.Client) error { return clnt.List(ctx, &api.definitions) })
	})
	if api.definitionsErr != nil {
		return nil, fmt.Errorf("listing definitions of types: %w", api.definitionsErr)
	}
	for i := range api.definitions.Items {
		crd := &api.definitions.Items[i]
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

// LookServed is look for an object that is to go. That there is no such object is said by the server only.
func (api *Server) LookServed(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	seen, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view == observe.Present && !api.Expired(seen) {
		return decisions.Situation{Owner: api.Label, Exists: true, Seen: seen}, nil
	}
	s, err := api.AskServed(ctx, item)
	if view == observe.Present && err == nil && s.Exists {
		api.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	}
	return s, err
}

// AskServed is ask for an object that is to go: as the identity that may look, and in whatever version the object is served. The item
// goes over to that version. The object does not exist only if the server says so, or does not serve the type at all.
func (api *Server) AskServed(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := api.askAnyway(ctx, item)
	if err != nil || s.Exists || s.Typed {
		return s, err
	}
	kind := item.GroupVersionKind().GroupKind()
	mappings, err := api.served(ctx, kind)
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
		found, err := api.askAnyway(ctx, &probe)
		if err != nil {
			return s, err
		}
		if found.Exists || found.Typed {
			item.Version = probe.Version
			return found, nil
		}
	}
	if asked {
		return s, &answers.UnknownTypeError{Kind: kind, Err: errors.New("the versions that are said to be served are not")}
	}
	return s, api.checkScope(ctx, item)
}

// checkScope returns an error unless it is certain that the scope of a type is not that of an object any more: then the object has gone
// with the definition that had its scope.
func (api *Server) checkScope(ctx context.Context, item *inventory.Item) error {
	kind := item.GroupVersionKind().GroupKind()
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return err
	}
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	if (scope == "Namespaced") == (item.Namespace != "") {
		return &answers.UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined with scope %s, and not served with it yet", scope)}
	}
	return nil
}

// ServedNow returns how a type is served in its preferred version; nil if there are no objects of it.
func (api *Server) ServedNow(ctx context.Context, kind schema.GroupKind) (*meta.RESTMapping, error) {
	mappings, err := api.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return nil, err
	}
	return mappings[0], nil
}
