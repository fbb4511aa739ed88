// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/sources"
)

// TestFilesOfOthers renders sources whose author tries to read a file of the user who renders them.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	outside := files{"secret": "stolen", "secret.yaml": configMap("stolen", "x: stolen"), "elsewhere/secret": "stolen", "elsewhere/s.yaml": configMap("stolen", "x: stolen")}
	base := files{"base/kustomization.yaml": "resources: [b.yaml]", "base/b.yaml": configMap("b", "x: z1")}
	simple := configMap("a", "x: z1")
	for _, tc := range []struct {
		reason string
		files  files
		// links are targets by the names of symbolic links; ROOT is the folder of everything.
		links map[string]string
		// want is what is generated, or an error if it is restricted; otherwise there is no error if the result is
		// free.
		want   []string
		err    string
		free   []string
		config sources.Options
	}{
		{
			reason: "a base is a kustomization of its own", files: merged(base, files{"k/kustomization.yaml": "resources: [../base, a.yaml]", "k/a.yaml": simple}),
			want: []string{"a: x: z1", "b: x: z1"}, free: []string{"a: x: z1", "b: x: z1"},
		},
		{
			reason: "a file outside", files: files{"k/kustomization.yaml": "configMapGenerator: [{name: g, files: [x=../secret], options: {disableNameSuffixHash: true}}]"},
			err: "must not be read: ROOT/secret", free: []string{"g: x: stolen"},
		},
		{
			reason: "a link to a file outside", files: files{"k/kustomization.yaml": "resources: [a.yaml]"}, links: map[string]string{"k/a.yaml": "../secret.yaml"},
			err: "a.yaml is a symbolic link, or below one", free: []string{"stolen: x: stolen"},
		},
		{
			reason: "a link to a folder outside", files: files{"k/kustomization.yaml": "resources: [d/s.yaml]"}, links: map[string]string{"k/d": "ROOT/elsewhere"},
			err: "must not be read", free: []string{"stolen: x: stolen"},
		},
		{
			reason: "a link that nothing refers to, and one within", files: files{"k/kustomization.yaml": "resources: [b.yaml]", "k/a.yaml": simple},
			links: map[string]string{"k/unused": "../secret", "k/b.yaml": "a.yaml"}, want: []string{"a: x: z1"}, free: []string{"a: x: z1"},
		},
		{
			reason: "a template that reads a file outside",
			files:  files{"k/.component-config.yaml": "includedFiles: [../secret]\nvalues: {a: b}", "k/a.yaml": configMap("a", "x: '{{ readFile `../secret` | toString }}'")},
			err:    "includedFiles: files outside of the folder of a kustomization must not be read: ../secret", free: []string{"a: x: stolen"},
		},
		{
			reason: "a folder that is not a kustomization", files: files{"k/.component-config.yaml": "includedKustomizations: [../elsewhere]\nvalues: {a: b}", "k/kustomization.yaml": "resources: [../elsewhere]"},
			err: "must not be read: ../elsewhere is not a kustomization", free: []string{"stolen: x: stolen"},
		},
		{
			reason: "a link in a chart", files: chart("k", files{"a.yaml": configMap("a", "x: {{ .Files.Get `link` }}")}), links: map[string]string{"k/link": "../secret"},
			err: "link: path escapes from parent: it is a symbolic link", free: []string{"a: x: stolen"},
		},
	} {
		hint := "--load-restrictor LoadRestrictionsNone"
		if strings.Contains(tc.err, "does not exist") {
			hint = "" // a template cannot tell a link that is left out from a file that does not exist
		}
		root := merged(outside, tc.files).write(t)
		for name, content := range tc.files {
			if err := os.WriteFile(filepath.Join(root, name), []byte(strings.ReplaceAll(content, "ROOT", root)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, target := range tc.links {
			if err := os.Symlink(strings.ReplaceAll(target, "ROOT", root), filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, unrestricted := range []bool{false, true} {
			want, message := tc.want, tc.err
			if unrestricted {
				want, message = tc.free, ""
			}
			var got []string
			set, err := sources.Load(t.Context(), []string{filepath.Join(root, "k")}, sources.Options{Unrestricted: unrestricted})
			if err == nil {
				var generated *sources.Generated
				if generated, err = set.Generate(t.Context(), request()); err == nil {
					got = lines(t, generated.Objects)
				}
			}
			switch {
			case message == "" && err != nil:
				t.Errorf("%s, unrestricted %t: %v", tc.reason, unrestricted, err)
			case message != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), root, "ROOT"), message) || !strings.Contains(err.Error(), hint)):
				t.Errorf("%s: want error %q, got %v and %v", tc.reason, message, err, got)
			}
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("%s, unrestricted %t (-want +got):\n%s", tc.reason, unrestricted, diff)
			}
		}
	}
}
