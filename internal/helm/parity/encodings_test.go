// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/postrender"

	generator "github.com/component-operator/runtime/pkg/manifests/helm"
)

// A post-renderer that was written for Helm fits.
var _ generator.PostRenderer = postrender.PostRenderer(nil)

// byteOrderMark and Windows line ends are hard to see in a sample.
const byteOrderMark = "\uFEFF"

func TestEncodings(t *testing.T) {
	t.Parallel()
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  values: {{ toJson .Values | quote }}\n  text: |\n    one\n    two\n" +
		"  file: {{ .Files.Get \"a.txt\" | quote }}\n  {{- if true }}\n  more: text\n  {{- end }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	plain := files{"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.2.3\n", "values.yaml": "a: 1\nb: |\n  x\n  y\n", "templates/a.yaml": template, "a.txt": "x\ny\n"}
	changed := func(change func(string) string) files {
		result := files{}
		for name, content := range plain {
			result[name] = change(content)
		}
		return result
	}
	for reason, chart := range map[string]files{
		"a byte order mark is skipped":           changed(func(text string) string { return byteOrderMark + text }),
		"Windows line ends are line ends":        changed(func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }),
		"the last line need not be ended":        changed(func(text string) string { return strings.TrimSuffix(text, "\n") }),
		"documents may end with an end mark":     changed(func(text string) string { return strings.ReplaceAll(text, "---\n", "...\n---\n") }),
		"text that is not ASCII stays as it is":  changed(func(text string) string { return strings.ReplaceAll(text, "one", "äöü ☃ \\u263A 𝄞") }),
		"blanks at the end of lines do no harm":  changed(func(text string) string { return strings.ReplaceAll(text, "\n", "  \n") }),
		"a mark in the middle of a file remains": {"Chart.yaml": plain["Chart.yaml"], "templates/a.yaml": plain["templates/a.yaml"], "a.txt": "a" + byteOrderMark},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			want, err := templateWithHelm(chart.dir(t), nil, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := render(t.Context(), chart.fs(), ".", releaseWith(nil, false))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" || len(want) != 2 {
				t.Errorf("unexpected objects (-Helm +got):\n%s", diff)
			}
		})
	}
}
