// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// key identifies an object, whatever the version it is accessed by.
type key struct {
	schema.GroupKind
	namespace, name string
}

func keyOf(object types.ObjectKey) key {
	return key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}
}

// String names the object as messages do.
func (k key) String() string { return types.ObjectText(k.GroupKind, k.namespace, k.name) }

// possession is an object that a release renders, or has recorded.
type possession struct {
	reconciler.ObjectInfo
	// rendered is where the object stands in the manifest of the current revision; negative if it does not.
	rendered int
	// item is the record of the object; nil if there is none.
	item *reconciler.InventoryItem
}

// possessions returns the objects that are, or are to be, dependents of the release as it is; sorted.
func (s *Session) possessions(plan *Plan) ([]possession, error) {
	found := map[key]*possession{}
	for _, item := range plan.Release.Inventory {
		info := reconciler.ObjectInfo{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}
		found[keyOf(info)] = &possession{ObjectInfo: info, rendered: -1, item: item}
	}
	for i, object := range plan.Content.Manifest {
		if !plan.applies(object) {
			continue
		}
		namespace, err := s.placed(object, plan.Release.Namespace)
		if err != nil {
			return nil, err
		}
		info := reconciler.ObjectInfo{
			TypeVersionInfo: reconciler.TypeVersionInfo(object.GroupVersionKind()), NameInfo: reconciler.NameInfo{Namespace: namespace, Name: object.GetName()},
		}
		if known := found[keyOf(info)]; known != nil {
			known.rendered, known.ObjectInfo = i, info
			continue
		}
		found[keyOf(info)] = &possession{ObjectInfo: info, rendered: i}
	}
	list := make([]possession, 0, len(found))
	for _, p := range found {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b possession) int { return cmp.Compare(a.String(), b.String()) })
	return list, nil
}

// placed returns the namespace in which an object is applied.
func (s *Session) placed(object client.Object, namespace string) (string, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	mapping, err := s.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		// It was never applied: then it is not known yet whether its type has namespaces.
		return object.GetNamespace(), nil
	case err != nil:
		return "", fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return "", nil
	default:
		return cmp.Or(object.GetNamespace(), namespace), nil
	}
}

// keysOf identifies objects that are applied with a release of this namespace.
func (s *Session) keysOf(objects []client.Object, namespace string) (map[key]bool, error) {
	keys := make(map[key]bool, len(objects))
	for _, object := range objects {
		placed, err := s.placed(object, namespace)
		if err != nil {
			return nil, err
		}
		keys[key{GroupKind: object.GetObjectKind().GroupVersionKind().GroupKind(), namespace: placed, name: object.GetName()}] = true
	}
	return keys, nil
}

// reference is how a user denotes an object.
type reference struct {
	text string
	// kind is a kind, a resource or a short name, with the group if there is a dot in it.
	kind string
	// namespace is empty if it was not given.
	namespace, name string
}

func parseReference(text string) (reference, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return reference{}, fmt.Errorf("invalid object %q; allowed is KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web", text)
	}
	r := reference{text: text, kind: parts[0], name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.namespace = parts[1]
	}
	return r, nil
}

// scope is where objects are looked for.
type scope struct {
	name string
	// show is the command that lists the objects.
	show string
}

// resolve returns the possessions that are denoted by texts, without repetitions.
func (s *Session) resolve(texts []string, possessions []possession, in scope) ([]possession, error) {
	var found []possession
	seen := map[key]bool{}
	for _, text := range texts {
		r, err := parseReference(text)
		if err != nil {
			return nil, err
		}
		match, err := s.match(r, possessions, in)
		if err != nil {
			return nil, err
		}
		if !seen[keyOf(match)] {
			seen[keyOf(match)] = true
			found = append(found, match)
		}
	}
	return found, nil
}

// match returns the one possession that a reference denotes.
func (s *Session) match(r reference, possessions []possession, in scope) (possession, error) {
	named := slices.DeleteFunc(slices.Clone(possessions), func(p possession) bool {
		return p.Name != r.name || r.namespace != "" && p.Namespace != r.namespace
	})
	fits := func(isKind func(schema.GroupKind) bool) []possession {
		return slices.DeleteFunc(slices.Clone(named), func(p possession) bool { return !isKind(keyOf(p).GroupKind) })
	}
	matches := fits(func(kind schema.GroupKind) bool { return r.isNameOf(kind.Kind, kind.Group) })
	if len(matches) == 0 && len(named) > 0 {
		kinds, err := s.kindsNamed(r)
		if err != nil {
			return possession{}, err
		}
		matches = fits(func(kind schema.GroupKind) bool { return kinds[kind] })
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return possession{}, refused("there is no object %s in %s; all of them: %s", r.text, in.name, in.show)
	default:
		texts := make([]string, len(matches))
		for i, match := range matches {
			texts[i] = match.String()
		}
		return possession{}, refused("there are several objects %s in %s: %s; please give the group or the namespace as well", r.text, in.name, strings.Join(texts, ", "))
	}
}

// isNameOf tells whether a type of this name and group is meant.
func (r reference) isNameOf(name, group string) bool {
	return strings.EqualFold(r.kind, name) || strings.EqualFold(r.kind, name+"."+group)
}

// kindsNamed returns the types that have a resource, or a short name, as it was given.
func (s *Session) kindsNamed(r reference) (map[schema.GroupKind]bool, error) {
	lists, err := s.client.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	kinds := map[schema.GroupKind]bool{}
	eachResource(lists, func(gv schema.GroupVersion, resource metav1.APIResource) {
		names := append([]string{resource.Name, resource.SingularName}, resource.ShortNames...)
		if slices.ContainsFunc(names, func(name string) bool { return name != "" && r.isNameOf(name, gv.Group) }) {
			kinds[schema.GroupKind{Group: gv.Group, Kind: resource.Kind}] = true
		}
	})
	return kinds, nil
}

// eachResource visits all resources that are no subresources.
func eachResource(lists []*metav1.APIResourceList, visit func(gv schema.GroupVersion, resource metav1.APIResource)) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				visit(schema.GroupVersion{Group: cmp.Or(resource.Group, gv.Group), Version: cmp.Or(resource.Version, gv.Version)}, resource)
			}
		}
	}
}

// objectTexts lists objects for people, not more than a few.
func objectTexts(objects []possession) string {
	var texts []string
	for i, object := range objects {
		if i == shownNotices && len(objects) > i+1 {
			texts = append(texts, fmt.Sprintf("and %d more", len(objects)-i))
			break
		}
		texts = append(texts, object.String())
	}
	return strings.Join(texts, ", ")
}
