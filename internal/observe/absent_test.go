// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestAbsentTypesAreLookedUpTogether has types that do not exist, as a user may forge them into a status, and one that
// is going to.
func TestAbsentTypesAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := testenv.UniqueName(t) + ".example.com"
	const absent = 30
	needs := []observe.Need{{Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}}}
	twice := needs[0]
	twice.Kind.Version = "v2"
	needs = append(needs, twice)
	for i := range absent {
		needs = append(needs, observe.Need{Kind: schema.GroupVersionKind{Group: fmt.Sprintf("absent-%d.%s", i, group), Version: "v1", Kind: "Widget"}})
	}
	if err := w.cache.Watch(t.Context(), "owner", needs); err != nil {
		t.Fatal(err)
	}
	if got := w.cache.Unwatched(); len(got) != absent+1 {
		t.Errorf("want each type once that is not watched, got %v", got)
	}
	before := w.requestsAbout("/apis/absent-")
	shared := func() int { return w.requestsAbout("/apis") }
	first := shared()
	testenv.Eventually(t, func() (bool, string) { return shared() > first, "the types were not discovered again" })
	w.defineWidgetsOf(group)
	testenv.Eventually(t, func() (bool, string) {
		watches, _ := w.watches("widgets")
		return watches > 0, "the type that has come is not watched"
	})
	if after := w.requestsAbout("/apis/absent-"); after != before || before > 2*absent {
		t.Errorf("%d types that do not exist took %d requests at first, and %d after that", absent, before, after-before)
	}
}

// requestsAbout counts the requests for a path; one that ends with a dash stands for all that begin so.
func (w *world) requestsAbout(path string) int {
	return w.requests.Count(func(request testenv.Request) bool {
		return request.Path == path || strings.HasSuffix(path, "-") && strings.HasPrefix(request.Path, path)
	})
}

// defineWidgets defines a type that no other test has instances of.
func (w *world) defineWidgets() {
	w.Helper()
	w.defineWidgetsOf(testenv.UniqueName(w) + ".example.com")
}

func (w *world) defineWidgetsOf(group string) {
	w.Helper()
	crd := testenv.Object(w, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	if err := w.client.Create(w.Context(), crd); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), crd) })
}
