// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// TestEncode writes what Kubernetes' own conversion writes.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		"a: text\nB: \"yes\"\nc: 'null'\nd: '1'\ne: 1e3\nf: 0.1\ng: -0.0\nh: 1e-7\ni: 1e300\nj: 9223372036854775807\nk: true\nl: null\n",
		"text: |\n  two\n  lines\nfolded: >-\n  one\n  line\nquoted: \"tab\\t, quote \\\", <&>, \\u2028, \\U0001F600, \\x07\"\nempty: ''\nspaces: '  a '\ndate: '2026-01-02'\n",
		"list:\n- a: 1\n  b: [x, {y: z}]\n- []\n- {}\n- [[1], [2, 3]]\nkeys: {1: a, true: b, 1.5: c, '~': d, 'x: y': e, '': f}\n",
		"- 1\n- text\n",
		"binary: !!binary /+4=\nlong: " + "words and words and words and words and words and words and words and words and words and words and words and words\n",
		"null\n",
	} {
		content, err := manifest.Decode([]byte(document))
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		got, err := manifest.Encode(content)
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		want, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("want what Kubernetes writes (-want +got):\n%s", diff)
		}
	}
}
