// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

var (
	kindLine    = regexp.MustCompile(`(?m)^kind: *["']?(\w+)["']?\s*$`)
	versionLine = regexp.MustCompile(`(?m)^apiVersion: *["']?([\w./-]+)["']?\s*$`)
	// foreignHook matches hooks that no component has.
	foreignHook = regexp.MustCompile(`(?m)helm\.sh/hook["']?: *["']?(test(-\w+)?|(pre|post)-rollback|crd-install)["'}\s]*$`)
	// inclusion matches what may render objects without a kind in the text of the template.
	inclusion = regexp.MustCompile(`\b(include|template|tpl|toYaml)\b`)
)

// withContent are kinds for which the operator needs rights that depend on the content of the object.
var withContent = []string{"ClusterRole", "ClusterRoleBinding", "Namespace", "Role", "RoleBinding"}

// written returns an object for each kind that stands in a template, but was never rendered; its name is the template.
// Kinds whose rights are unknown are noted, and so are templates without a kind that have rendered nothing. The files
// are the templates that have rendered something.
func (c *Contents) written(templates map[string]string, objects []*unstructured.Unstructured, files sets.Set[string]) (written []*unstructured.Unstructured) {
	seen := sets.New[schema.GroupKind]()
	for _, object := range objects {
		seen.Insert(object.GroupVersionKind().GroupKind(), schema.GroupKind{Group: anyGroup, Kind: object.GetKind()})
	}
	var left []string
	for _, path := range slices.Sorted(maps.Keys(templates)) {
		_, file, _ := strings.Cut(oneLine(path), "/")
		if !files.Has(path) && !kindLine.MatchString(templates[path]) && inclusion.MatchString(templates[path]) {
			left = append(left, "anything in "+file)
		}
		for _, candidates := range kindsIn(templates[path]) {
			at := slices.IndexFunc(candidates, func(kind schema.GroupVersionKind) bool {
				return clientgoscheme.Scheme.Recognizes(kind) && kind.Group != "extensions" && !slices.Contains(withContent, kind.Kind)
			})
			switch {
			case slices.ContainsFunc(candidates, func(kind schema.GroupVersionKind) bool { return seen.Has(kind.GroupKind()) }):
			case at < 0:
				left = append(left, candidates[0].Kind+" in "+file)
			default:
				version, kind := candidates[at].ToAPIVersionAndKind()
				written = append(written, &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": file}}})
				seen.Insert(candidates[at].GroupKind())
			}
		}
	}
	if len(left) > 0 {
		c.note("Not rendered with any values that were tried: " + strings.Join(slices.Compact(left), ", ") +
			". The operator has no permissions for that; if components may have it, add them to rbac.additionalRules.")
	}
	return written
}

// anyGroup is the group of a kind whose version is not in the text of the template.
const anyGroup = "*"

// kindsIn returns the kinds that stand in a template, each with all versions of its document.
func kindsIn(template string) (kinds [][]schema.GroupVersionKind) {
	for document := range strings.SplitSeq(template, "\n---") {
		versions := versionLine.FindAllStringSubmatch(document, -1)
		if len(versions) == 0 {
			versions = [][]string{{"", anyGroup + "/"}}
		}
		for _, kind := range kindLine.FindAllStringSubmatch(document, -1) {
			if foreignHook.MatchString(document) || strings.HasSuffix(kind[1], "List") { // the items of a list are objects
				continue
			}
			var candidates []schema.GroupVersionKind
			for _, version := range versions {
				candidates = append(candidates, schema.FromAPIVersionAndKind(version[1], kind[1]))
			}
			kinds = append(kinds, candidates)
		}
	}
	return kinds
}
