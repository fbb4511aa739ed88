// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
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
