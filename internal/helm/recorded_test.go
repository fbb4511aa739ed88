// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRecorded(t *testing.T) {
	t.Parallel()
	manifest := `---
# Source: web/templates/z.yaml
{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}
---
# Source: web/charts/db/templates/a.yaml
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: db-1}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: db-2}}
---
# Source: web/templates/empty.yaml
---
# Source: web/templates/a.yaml
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: nowhere}}
`
	hooks := []RecordedHook{{Path: "web/templates/a.yaml", Manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: hook}}"}}
	objects, err := ParseRecorded(manifest, hooks)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.File()+" "+object.GetName())
	}
	want := []string{
		"manifest nowhere", "web/charts/db/templates/a.yaml db-1", "web/charts/db/templates/a.yaml db-2",
		"web/templates/a.yaml a", "web/templates/a.yaml hook", "web/templates/z.yaml z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRecordedNamesTheFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		manifest string
		hooks    []RecordedHook
	}{
		"web/templates/a.yaml, document 1": {manifest: "# Source: web/templates/a.yaml\n{kind: [}"},
		"web/templates/b.yaml, document 1": {hooks: []RecordedHook{{Path: "web/templates/b.yaml", Manifest: "kind: ConfigMap"}}},
	} {
		if _, err := ParseRecorded(tc.manifest, tc.hooks); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error about %s, got %v", name, err)
		}
	}
}
