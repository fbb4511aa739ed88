// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// objectMetadata is the part of an object that rules match.
type objectMetadata struct {
	kind      schema.GroupKind
	namespace string
	name      string
	labels    map[string]string
}

var (
	possibleKind      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)
	possibleName      = regexp.MustCompile(`^[^/%]+$`)
	possibleNamespace = regexp.MustCompile(`^[a-z0-9*?^\[\]\\-]+$`)
)

// compileMatch returns the compiled condition, and the problems that it found.
func compileMatch(match PolicyMatch) (func(objectMetadata) bool, []string) {
	var problems []string
	refuse := func(field, value, allowed string) {
		problems = append(problems, fmt.Sprintf("match.%s: invalid value %q; must be %s", field, value, allowed))
	}
	if allowed := allowedKinds(match.Kind); allowed != "" {
		refuse("kind", match.Kind, allowed)
	}
	if !possiblePattern(match.Name, possibleName) {
		refuse("name", match.Name, `a pattern that a name can match, such as "web" or "web-*"`)
	}
	if !possiblePattern(match.Namespace, possibleNamespace) {
		refuse("namespace", match.Namespace, `a pattern that a namespace can match, such as "demo" or "demo-*"`)
	}
	selector, err := labels.Parse(match.Labels)
	if err != nil {
		refuse("labels", match.Labels, fmt.Sprintf(`a label selector such as "app=web,tier in (a, b),!legacy" (%s)`, err))
		return nil, problems
	}
	kind, group, hasGroup := strings.Cut(match.Kind, ".")
	return func(m objectMetadata) bool {
		return (kind == "" || kind == m.kind.Kind) && (!hasGroup || group == m.kind.Group) &&
			matchesPattern(match.Name, m.name) && matchesPattern(match.Namespace, m.namespace) &&
			selector.Matches(labels.Set(m.labels))
	}, problems
}

func matchesPattern(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	matched, err := path.Match(pattern, text)
	return err == nil && matched
}

// possiblePattern reports whether a pattern is well-formed and can match a name.
func possiblePattern(pattern string, possible *regexp.Regexp) bool {
	_, err := path.Match(pattern, "")
	return err == nil && (pattern == "" || possible.MatchString(pattern))
}

// allowedKinds returns the kinds to use instead; empty if nothing is wrong. It accepts unknown kinds,
// which may be defined later, but not one that differs from a known kind only in its spelling.
func allowedKinds(text string) string {
	if text == "" {
		return ""
	}
	if !possibleKind.MatchString(text) {
		return `a kind such as "Deployment" or "Deployment.apps"`
	}
	kind, _, _ := strings.Cut(text, ".")
	var similar []string
	for known := range clientgoscheme.Scheme.AllKnownTypes() {
		if known.Kind == kind {
			return ""
		}
		if strings.EqualFold(known.Kind, kind) {
			similar = append(similar, known.Kind)
		}
	}
	slices.Sort(similar)
	similar = slices.Compact(similar)
	if len(similar) > 1 {
		return "one of: " + strings.Join(similar, ", ")
	}
	return strings.Join(similar, "")
}
