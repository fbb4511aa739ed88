// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/bitnami"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/comments"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/database"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/draft4"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/embedded"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/freeform"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/merging"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/mesh"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/names"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/parcel"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/plain"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/queue"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/shop"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/template"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/umbrella"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/web"
	"github.com/component-operator/runtime/scaffold/internal/valuetypes/testdata/golden/webshop"
)

// specs returns the golden types, for each fixture an empty one.
func specs() map[string]any {
	return map[string]any{
		"bitnami": &bitnami.Spec{}, "comments": &comments.Spec{}, "database": &database.Spec{}, "draft4": &draft4.Spec{},
		"embedded": &embedded.Spec{}, "freeform": &freeform.Spec{}, "merging": &merging.Spec{}, "mesh": &mesh.Spec{}, "names": &names.Spec{},
		"parcel": &parcel.Spec{}, "plain": &plain.Spec{}, "queue": &queue.Spec{}, "shop": &shop.Spec{}, "template": &template.Spec{}, "umbrella": &umbrella.Spec{},
		"web": &web.Spec{}, "webshop": &webshop.Spec{},
	}
}

// TestValuesReachTheChart checks that what a user sets, zero values and empty lists included, passes through the Go types
// unchanged, and that nothing is added.
func TestValuesReachTheChart(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			for _, values := range f.cases.Accepted {
				spec := specs()[f.name]
				content, err := json.Marshal(values)
				if err != nil {
					t.Fatal(err)
				}
				var want map[string]any
				if err := kjson.Unmarshal(content, &want); err != nil {
					t.Fatal(err)
				}
				if err := kjson.Unmarshal(content, spec); err != nil {
					t.Fatalf("%s: %v", content, err)
				}
				got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, numbers); diff != "" {
					t.Errorf("values of the chart (-set +got):\n%s", diff)
				}
			}
		})
	}
}

// numbers makes 1 and 1.0 equal: a field for numbers has the latter.
var numbers = cmp.FilterValues(func(a, b any) bool { return isNumber(a) && isNumber(b) }, cmp.Comparer(func(a, b any) bool {
	return literal(a) == literal(b)
}))

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}
