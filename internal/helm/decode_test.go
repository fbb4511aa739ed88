// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/releaseutil"
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
		want, wantErr := decodeViaJSON(document)
		got, gotErr := decode(document)
		if errors.Is(gotErr, errAmbiguousKey) {
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

func TestDecodeAmbiguousKeys(t *testing.T) {
	t.Parallel()
	if content, err := decode("a: {1: x, '1': y}"); !errors.Is(err, errAmbiguousKey) {
		t.Errorf("got %v and error %v", content, err)
	}
}

func FuzzSplitDocuments(f *testing.F) {
	for _, seed := range []string{
		"", "---", "a\n---\nb", "---\n---\na", "a \n\t\r\n---  \n\n b\n--- \n", "a\n---b\n ---\nc---\n", "--- a\n---\u00a0\n---", "\u00a0\n---\na\n\u2028\n---\v\nb", "\n\n---\r\n# x\r\n---\r\n", "----\na\n----",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		split := releaseutil.SplitManifests(content)
		var want []string
		for i := range len(split) {
			want = append(want, split[fmt.Sprintf("manifest-%d", i)]+"\n")
		}
		if diff := cmp.Diff(want, splitDocuments(content)); diff != "" {
			t.Errorf("unexpected documents (-Helm +got):\n%s", diff)
		}
	})
}
