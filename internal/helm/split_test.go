// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/releaseutil"
)

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
		var got []string
		rendered := []byte(content)
		for _, document := range splitDocuments(rendered) {
			got = append(got, string(document))
			_ = append(document, "must not overwrite the next one"...)
		}
		if string(rendered) != content {
			t.Errorf("the rendered file has changed to %q", rendered)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unexpected documents (-Helm +got):\n%s", diff)
		}
	})
}
