// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStrange(t *testing.T) {
	t.Parallel()
	const prefix = "shop.example.io/"
	for _, tc := range []struct {
		reason string
		keys   []string
		want   []string
	}{
		{"known ones, those of others, and the author's own", []string{prefix + "apply-order", prefix + "owner-id", prefix + "disable-events", prefix + "hash", "example.io/apply-order", "helm.sh/hook", "checksum"}, nil},
		{"exchanged letters", []string{prefix + "apply-ordre"}, []string{"annotation shop.example.io/apply-ordre is not known, and has no effect; did you mean apply-order?"}},
		{"another spelling", []string{prefix + "applyOrder"}, []string{"annotation shop.example.io/applyOrder is not known, and has no effect; did you mean apply-order?"}},
		{"something else", []string{prefix + "colour"}, []string{"annotation shop.example.io/colour is not known, and has no effect"}},
		{"a prefix with a slip", []string{"shop.exmaple.io/purge-order", "Shop.Example.IO/apply-order", "shop.example.com/apply-order", "shop.example.io.org/apply-order"}, []string{
			"annotation Shop.Example.IO/apply-order has no effect; did you mean shop.example.io/apply-order?",
			"annotation shop.example.com/apply-order has no effect; did you mean shop.example.io/apply-order?",
			"annotation shop.exmaple.io/purge-order has no effect; did you mean shop.example.io/purge-order?",
		}},
		{"what nobody puts into manifests", []string{"shop.exmaple.io/owner-id"}, nil},
	} {
		values := map[string]string{}
		for _, key := range tc.keys {
			values[key] = "1"
		}
		if diff := cmp.Diff(tc.want, Strange(prefix, values, []string{"hash"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if got := Strange("a.io/", map[string]string{"b.io/apply-order": ""}, nil); len(got) > 0 {
		t.Errorf("short names are too similar, got %v", got)
	}
}

// TestAllSuffixesAreKnown fails if a constant of package types is neither for manifests nor reserved.
func TestAllSuffixesAreKnown(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../pkg/types/annotations.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "AnnotationKeySuffix") {
			return true
		}
		literal, _ := spec.Values[0].(*ast.BasicLit)
		suffix, err := strconv.Unquote(literal.Value)
		if count++; err != nil || !isKnown(suffix) {
			t.Errorf("%s is not known: %v", spec.Names[0].Name, err)
		}
		return true
	})
	if count < 30 {
		t.Errorf("only %d constants were found", count)
	}
}
