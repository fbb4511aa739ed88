// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// path is a JSON path of a field. It is safe for concurrent use.
type path struct {
	text string

	mu     sync.Mutex // a JSONPath keeps state while it is evaluated
	parsed *jsonpath.JSONPath
}

func newPath(text string) (*path, error) {
	trimmed := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(trimmed, "{"); ok {
		trimmed = strings.TrimSuffix(inner, "}")
	}
	parsed := jsonpath.New("path").AllowMissingKeys(true)
	if !strings.HasPrefix(trimmed, ".") || strings.Trim(trimmed, ".") == "" {
		return nil, fmt.Errorf("invalid value %q; must be the JSON path of a field, such as .status.replicas", text)
	}
	if err := parsed.Parse("{" + trimmed + "}"); err != nil {
		return nil, fmt.Errorf("invalid value %q: %w; must be the JSON path of a field, such as .status.replicas", text, err)
	}
	return &path{text: trimmed, parsed: parsed}, nil
}

// String returns the path without braces.
func (p *path) String() string { return p.text }

// find returns the value of the field, and reports whether it exists. A path that leads through a value that has no fields leads nowhere. If it leads to
// several values, they are returned as a list.
func (p *path) find(object *unstructured.Unstructured) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	results, err := p.parsed.FindResults(object.Object)
	if err != nil {
		return nil, false
	}
	var found []any
	for _, values := range results {
		for _, value := range values {
			if value.IsValid() && value.CanInterface() {
				found = append(found, value.Interface())
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, false
	case 1:
		return found[0], true
	default:
		return found, true
	}
}
