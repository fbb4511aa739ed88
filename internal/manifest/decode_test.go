// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// decodeViaJSON is how Kubernetes decodes.
func decodeViaJSON(document string) (any, error) {
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return nil, err
	}
	var content any
	return content, json.Unmarshal(raw, &content)
}

var documentSeeds = []string{
	"a: b\n", "", "null", "- 1\n- [2, {c: 3}]", "text", "a: b\na: c", "{a: &x {b: 1}, c: {<<: *x, d: 2}}",
	"1: 0x1F\n2.50: 0755\ntrue: 1_000\n1e3: [1e3, 1.0, -0.0, .5, 1e20, 1e21, 1e22, 9223372036854775807, 9223372036854775808, 18446744073709551615]",
	"[yes, No, ON, off, y, n, ~, Null, .inf, .nan]", "? [a]\n: b", "~: a", "!!binary aGVsbG8=: !!binary //79", "a: !!str 1\nb: !!int '2'\nc: !!float 3",
	"t: 2020-01-02\nu: 2020-01-02T03:04:05Z\nv: 12:30:45", "a: |\n  x\n   y\nb: >-\n  x\n  y\n", "\"\\ud800\\xff\\0\": '\u2028<>&'", "!!timestamp 2020-01-02", "!!set {a, b}", "a: !custom b",
}

func FuzzDecode(f *testing.F) {
	for _, seed := range documentSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		if CheckSize([]byte(document)) != nil {
			return
		}
		want, wantErr := decodeViaJSON(document)
		got, gotErr := Decode([]byte(document))
		var second *SecondValueError
		if errors.Is(gotErr, ErrAmbiguousKey) || errors.As(gotErr, &second) {
			return
		}
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("Kubernetes yields %v and error %v, but we yield %v and error %v", want, wantErr, got, gotErr)
		}
		if diff := cmp.Diff(want, got); diff != "" && wantErr == nil {
			t.Errorf("unexpected content (-Kubernetes +got):\n%s", diff)
		}
	})
}
