// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	object := func() *unstructured.Unstructured {
		return testenv.Object(t, `{apiVersion: v1, kind: X, metadata: {name: a}, spec: {foo: 1, keep: 1, only: {foo: 1}, list: [{name: c, bar: 1}, {name: d, bar: 1}], plain: [{bar: 1, keep: 1}]}}`)
	}
	for _, tc := range []struct {
		reason string
		fields []string
		want   string
	}{
		{"a field", []string{".spec.foo"}, `{keep: 1, only: {foo: 1}, list: [{name: c, bar: 1}, {name: d, bar: 1}], plain: [{bar: 1, keep: 1}]}`},
		{"in a list by key", []string{`.spec.list[name="d"].bar`}, `{foo: 1, keep: 1, only: {foo: 1}, list: [{name: c, bar: 1}, {name: d}], plain: [{bar: 1, keep: 1}]}`},
		{"in a list by index", []string{".spec.plain[0].bar"}, `{foo: 1, keep: 1, only: {foo: 1}, list: [{name: c, bar: 1}, {name: d, bar: 1}], plain: [{keep: 1}]}`},
		{"several", []string{".spec.foo", ".spec.none", `.spec.list[name="c"].bar`}, `{keep: 1, only: {foo: 1}, list: [{name: c}, {name: d, bar: 1}], plain: [{bar: 1, keep: 1}]}`},
		{"none that exists", []string{".spec.none", ".spec.foo.bar", `.spec.list[name="x"].bar`, ".spec.plain[7].bar"}, ""},
		{"nonsense", []string{"spec[", ".spec.list[name="}, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got := object()
			changed := Prune(got, tc.fields)
			want := object()
			if tc.want != "" {
				want.Object["spec"] = testenv.Object(t, "{apiVersion: v1, kind: X, spec: "+tc.want+"}").Object["spec"]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if changed != (tc.want != "") {
				t.Errorf("a request must be repeated only if something changed: got %v", changed)
			}
		})
	}
}
