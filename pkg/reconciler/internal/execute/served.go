// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// group discovers the types of an API group, once per pass, and updates the client's mapper.
func (api *Server) group(ctx context.Context, name string) (*cluster.Group, error) {
	discovered, _ := api.groups.LoadOrStore(name, sync.OnceValues(func() (group *cluster.Group, err error) {
		err = api.ReadAnyway(func(clnt cluster.Client) (err error) {
			group, err = cluster.ReadGroup(ctx, clnt.DiscoveryClient(), name)
			return err
		})
		if err == nil {
			cluster.LearnTypes(api.Client.RESTMapper(), group)
		}
		return group, err
	}))
	answer, _ := discovered.(func() (*cluster.Group, error))
	return answer()
}

// served returns the mappings of a type that is served now, the preferred version first. It returns none only if there
// cannot be objects that anybody could read: no version is served, and no CustomResourceDefinition defines the type
// (apart from one that is being deleted). If the server does not prove that, the error is an *UnknownTypeError; if a
// definition serves no version, it is a *RefusedError.
func (api *Server) served(ctx context.Context, kind schema.GroupKind) ([]*meta.RESTMapping, error) {
	group, err := api.group(ctx, kind.Group)
	if err != nil {
		return nil, &UnknownTypeError{Kind: kind, Err: err}
	}
	if mappings := group.Mappings(kind.Kind); len(mappings) > 0 {
		return mappings, nil
	}
	if err := group.Failure(); err != nil {
		return nil, &UnknownTypeError{Kind: kind, Err: err}
	}
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return nil, err
	}
	if version := servedVersion(crd); version != "" {
		return nil, &UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined in version %s, and not served yet", version)}
	}
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return nil, inventory.NewRefusedError(fmt.Sprintf(
		"CustomResourceDefinition %s: serves no version, so its instances cannot be listed; let it serve one of: %s",
		crd.GetName(), strings.Join(stored, ", ")))
}

// definition returns the CustomResourceDefinition of a type; nil if there is none. One that is being deleted, or was
// never served and so has no instances, does not count.
func (api *Server) definition(ctx context.Context, kind schema.GroupKind) (*unstructured.Unstructured, error) {
	api.definitionsOnce.Do(func() {
		api.definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: prepare.GroupCRD, Version: "v1", Kind: "CustomResourceDefinitionList"})
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

// isEstablished reports whether a type was ever served: the condition never becomes False again.
func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" {
			return fields["status"] == "True"
		}
	}
	return false
}

// servedVersion returns the first served version, or "".
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

// LookServed is Look for an object that should be gone. Only the server can tell that it is, not the observer.
func (api *Server) LookServed(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	// Whether an object without our label is still ours also depends on its annotations, which the observer does not
	// have.
	if s, ok := api.Known(item); ok && s.Exists {
		return s, nil
	}
	s, err := api.AskServed(ctx, item)
	api.Renew(item, s, err)
	return s, err
}

// AskServed is Ask for an object that should be gone: with ReadAnyway, and in each served version. It sets the item's
// version to the one in which the server has answered. The object counts as gone only if the server says so, or does
// not serve the type at all.
func (api *Server) AskServed(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := api.AskAnyway(ctx, item)
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
		found, err := api.AskAnyway(ctx, &probe)
		if err != nil {
			return s, err
		}
		if found.Exists || found.Typed {
			item.Version = probe.Version
			return found, nil
		}
	}
	if asked {
		return s, &UnknownTypeError{Kind: kind, Err: errors.New("the API server announces versions that it does not serve")}
	}
	return s, api.checkScope(ctx, item)
}

// checkScope returns an error unless it is certain that the type no longer has the scope of the object: then the object
// was deleted with the former definition of the type.
func (api *Server) checkScope(ctx context.Context, item *inventory.Item) error {
	kind := item.GroupVersionKind().GroupKind()
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return err
	}
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	if (scope == "Namespaced") == (item.Namespace != "") {
		return &UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined with scope %s, and not served with it yet", scope)}
	}
	return nil
}

// ServedNow returns the mapping of a type in its preferred version; nil if there are no objects of the type.
func (api *Server) ServedNow(ctx context.Context, kind schema.GroupKind) (*meta.RESTMapping, error) {
	mappings, err := api.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return nil, err
	}
	return mappings[0], nil
}
