// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// verbOrder is the order in which people are used to see verbs.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}

// rules collects rules, each for one resource and one verb.
type rules struct {
	// verbs by resource, names by verb; no name stands for all.
	verbs map[schema.GroupResource]map[string]sets.Set[string]
	// paths are what the API serves beside resources, with the verbs for each.
	paths map[string]sets.Set[string]
}

func newRules() *rules {
	return &rules{verbs: map[schema.GroupResource]map[string]sets.Set[string]{}, paths: map[string]sets.Set[string]{}}
}

func (r *rules) add(resource schema.GroupResource, names []string, verbs ...string) {
	if r.verbs[resource] == nil {
		r.verbs[resource] = map[string]sets.Set[string]{}
	}
	of := r.verbs[resource]
	for _, verb := range verbs {
		if allowed, known := of[verb]; len(names) == 0 || known && len(allowed) == 0 {
			of[verb] = nil
		} else {
			of[verb] = sets.New(names...).Union(allowed)
		}
	}
}

func (r *rules) addPath(path string, verbs ...string) {
	r.paths[path] = sets.New(verbs...).Union(r.paths[path])
}

// policyRules returns few rules that allow the same: verbs that are for the same objects are in one, and so are
// resources of a group for which the same is allowed. Rules for paths come last.
func (r *rules) policyRules() []rbacv1.PolicyRule {
	var result []rbacv1.PolicyRule
	for _, resource := range slices.SortedFunc(maps.Keys(r.verbs), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	}) {
		for _, rule := range rulesOf(resource, r.verbs[resource]) {
			at := slices.IndexFunc(result, func(other rbacv1.PolicyRule) bool {
				return len(rule.ResourceNames)+len(other.ResourceNames) == 0 && other.APIGroups[0] == resource.Group && slices.Equal(other.Verbs, rule.Verbs)
			})
			if at < 0 {
				result = append(result, rule)
				continue
			}
			result[at].Resources = append(result[at].Resources, resource.Resource)
		}
	}
	return append(result, r.pathRules()...)
}

// pathRules returns a rule for each set of verbs.
func (r *rules) pathRules() []rbacv1.PolicyRule {
	var result []rbacv1.PolicyRule
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		verbs := sortedVerbs(maps.Keys(r.paths[path]))
		at := slices.IndexFunc(result, func(other rbacv1.PolicyRule) bool { return slices.Equal(other.Verbs, verbs) })
		if at < 0 {
			result = append(result, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: verbs})
			continue
		}
		result[at].NonResourceURLs = append(result[at].NonResourceURLs, path)
	}
	return result
}

// sortedVerbs returns verbs in the order of verbOrder, and others after them.
func sortedVerbs(verbs iter.Seq[string]) []string {
	place := func(verb string) int {
		if at := slices.Index(verbOrder, verb); at >= 0 {
			return at
		}
		return len(verbOrder)
	}
	return slices.SortedFunc(verbs, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
}

// rulesOf returns the rules for one resource: for all objects first, then for those with names.
func rulesOf(resource schema.GroupResource, verbs map[string]sets.Set[string]) []rbacv1.PolicyRule {
	byNames := map[string]*rbacv1.PolicyRule{}
	for _, verb := range sortedVerbs(maps.Keys(verbs)) {
		names := slices.Sorted(maps.Keys(verbs[verb]))
		key := strings.Join(names, "\x00")
		if byNames[key] == nil {
			byNames[key] = &rbacv1.PolicyRule{APIGroups: []string{resource.Group}, Resources: []string{resource.Resource}, ResourceNames: names}
		}
		byNames[key].Verbs = append(byNames[key].Verbs, verb)
	}
	var result []rbacv1.PolicyRule
	for _, key := range slices.Sorted(maps.Keys(byNames)) {
		result = append(result, *byNames[key])
	}
	return result
}
