// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// reference is an object as a user names it.
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
		return reference{}, fmt.Errorf("invalid object %q; must be KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web", text)
	}
	r := reference{text: text, kind: parts[0], name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.namespace = parts[1]
	}
	return r, nil
}

// Scope is where objects are looked for.
type Scope struct {
	// Name for people, such as "release default/web".
	Name string
	// Show is the command that lists the objects.
	Show string
}

// An Object is one that users can name. Its text is used in errors.
type Object interface {
	types.ObjectKey
	fmt.Stringer
}

// Resolve returns the objects that texts denote, each once: KIND[.GROUP]/[NAMESPACE/]NAME. The kind may be a resource
// or a short name of the cluster. The error is a RefusedError if a text denotes no object, or several of them.
func Resolve[O Object](clnt cluster.Client, texts []string, among []O, in Scope) ([]O, error) {
	var found []O
	seen := map[display.Key]bool{}
	for _, text := range texts {
		r, err := parseReference(text)
		if err != nil {
			return nil, err
		}
		match, err := match(clnt, r, among, in)
		if err != nil {
			return nil, err
		}
		if !seen[display.KeyOf(match)] {
			seen[display.KeyOf(match)] = true
			found = append(found, match)
		}
	}
	return found, nil
}

// match returns the one object that a reference denotes.
func match[O Object](clnt cluster.Client, r reference, among []O, in Scope) (O, error) {
	var none O
	named := slices.DeleteFunc(slices.Clone(among), func(object O) bool {
		return object.GetName() != r.name || r.namespace != "" && object.GetNamespace() != r.namespace
	})
	fits := func(isKind func(schema.GroupKind) bool) []O {
		return slices.DeleteFunc(slices.Clone(named), func(object O) bool { return !isKind(display.KeyOf(object).GroupKind) })
	}
	matches := fits(func(kind schema.GroupKind) bool { return r.isNameOf(kind.Kind, kind.Group) })
	if len(matches) == 0 && len(named) > 0 {
		kinds, err := kindsNamed(clnt, r)
		if err != nil {
			return none, err
		}
		matches = fits(func(kind schema.GroupKind) bool { return kinds[kind] })
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return none, releases.Refused("object %s not found in %s; to list its objects: %s", r.text, in.Name, in.Show)
	default:
		texts := make([]string, len(matches))
		for i, match := range matches {
			texts[i] = match.String()
		}
		return none, ambiguous(r.text, in.Name, texts)
	}
}

// ambiguous returns the RefusedError about a text that denotes several objects.
func ambiguous(text, scope string, candidates []string) error {
	return releases.Refused("%s matches several objects in %s: %s; specify the group or the namespace", text, scope, strings.Join(candidates, ", "))
}

// isNameOf reports whether a type of this name and group is meant.
func (r reference) isNameOf(name, group string) bool {
	return strings.EqualFold(r.kind, name) || strings.EqualFold(r.kind, name+"."+group)
}

// kindsNamed returns the types that have a resource, or a short name, as it was given.
func kindsNamed(clnt cluster.Client, r reference) (map[schema.GroupKind]bool, error) {
	lists, err := clnt.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	kinds := map[schema.GroupKind]bool{}
	EachResource(lists, func(gv schema.GroupVersion, resource metav1.APIResource) {
		names := append([]string{resource.Name, resource.SingularName}, resource.ShortNames...)
		if slices.ContainsFunc(names, func(name string) bool { return name != "" && r.isNameOf(name, gv.Group) }) {
			kinds[schema.GroupKind{Group: gv.Group, Kind: resource.Kind}] = true
		}
	})
	return kinds, nil
}

// EachResource visits all resources that were discovered, and that are no subresources.
func EachResource(lists []*metav1.APIResourceList, visit func(gv schema.GroupVersion, resource metav1.APIResource)) {
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

// Choice is what was chosen among the pods of a release. It is safe for concurrent use.
type Choice struct {
	release *releases.Release
	choices []*choice
}

// Choose returns the choice of the pods that are, or whose dependent is, among the named objects:
// KIND[.GROUP]/[NAMESPACE/]NAME. Without names these are all. That a release has no such dependent, or several of them,
// is a RefusedError; pods come and go.
func Choose(clnt cluster.Client, release *releases.Release, texts []string) (*Choice, error) {
	chosen := &Choice{release: release}
	for _, text := range texts {
		c := &choice{}
		var err error
		if c.reference, err = parseReference(text); err != nil {
			return nil, err
		}
		if c.kinds, err = kindsNamed(clnt, c.reference); err != nil {
			return nil, err
		}
		var denoted []string
		for _, item := range release.Inventory {
			if c.denotes(item.GroupVersionKind().GroupKind(), item.Namespace, item.Name) {
				denoted = append(denoted, display.Text(item))
			}
		}
		switch {
		case len(denoted) > 1:
			return nil, ambiguous(text, "release "+release.String(), denoted)
		case len(denoted) == 0 && !c.kinds[schema.GroupKind{Kind: "Pod"}]:
			return nil, releases.Refused("release %s has no dependent %s; to list them: clm tree %s -n %s", release, text, release.Name, release.Namespace)
		}
		// A dependent is there, whether it has pods or not.
		c.found.Store(len(denoted) > 0)
		chosen.choices = append(chosen.choices, c)
	}
	return chosen, nil
}

// Has reports whether a pod of a dependent, perhaps itself, is chosen.
func (c *Choice) Has(dependent, pod display.Object) bool {
	has := len(c.choices) == 0
	for _, choice := range c.choices {
		for _, object := range []display.Object{dependent, pod} {
			if choice.denotes(schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind(), object.Namespace, object.Name) {
				choice.found.Store(true)
				has = true
			}
		}
	}
	return has
}

// ConfirmFound returns a RefusedError if pods were chosen for which Has was never called.
func (c *Choice) ConfirmFound() error {
	for _, choice := range c.choices {
		if !choice.found.Load() {
			return releases.Refused("release %s has no %s; to list its objects: clm tree %s -n %s", c.release, choice.text, c.release.Name, c.release.Namespace)
		}
	}
	return nil
}

// choice is a reference with the types that it may mean.
type choice struct {
	reference
	kinds map[schema.GroupKind]bool
	found atomic.Bool
}

func (c *choice) denotes(kind schema.GroupKind, namespace, name string) bool {
	return name == c.name && (c.namespace == "" || namespace == c.namespace) && (c.isNameOf(kind.Kind, kind.Group) || c.kinds[kind])
}
