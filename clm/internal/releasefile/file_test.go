// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releasefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// load writes a file beside the folder chart, and reads it.
func load(t *testing.T, content, environment string) (string, []Member, error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "chart"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "releases.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	name, members, err := Load(path, Options{Environment: environment, Namespace: func(string) (string, error) { return "default", nil }, Getenv: func(name string) (string, bool) {
		value, known := map[string]string{"TAG": "1.10", "EMPTY": ""}[name]
		return value, known
	}})
	if err != nil {
		return name, nil, err
	}
	for i := range members {
		for j, source := range members[i].Sources {
			members[i].Sources[j] = strings.TrimPrefix(source, folder+"/")
		}
		for j, file := range members[i].ValuesFiles {
			members[i].ValuesFiles[j] = strings.TrimPrefix(file, folder+"/")
		}
	}
	return name, members, nil
}

const example = `
apiVersion: clm.cs.sap.com/v1alpha1
kind: Releases
name: shop
defaults:
  namespace: shop
  labels: {team: shop}
  valuesFiles: [common.yaml]
  values:
    image: {tag: "${NAMED}"}
    text: ${TAG}
    replicas: ${REPLICAS}
environments:
  test: {variables: {REPLICAS: "1", NAMED: x}, namespace: shop-test}
  prod: {variables: {REPLICAS: "3", NAMED: "v${TAG}"}, context: prod, createNamespace: true, valuesFiles: ["env/${ENVIRONMENT}.yaml"]}
releases:
- {name: web, sources: [./chart, oci://registry.example.com/web], version: ^1.2, dependsOn: [db, data/cache], values: {replicas: 5, escaped: "$${TAG}"}, valuesFiles: [web.yaml]}
- {name: db, sources: [bitnami/postgresql], timeout: 10m}
- {name: cache, namespace: data, sources: [chart], environments: [prod]}
- {name: cache, namespace: data, sources: [none.yaml], environments: [test]}
`

// TestFile reads a file in two environments: the more special settings win, and members come after what they need.
func TestFile(t *testing.T) {
	t.Parallel()
	name, members, err := load(t, example, "prod")
	if err != nil || name != "shop.prod" {
		t.Fatal(name, err)
	}
	var order []string
	for _, member := range members {
		order = append(order, member.String())
	}
	if diff := cmp.Diff([]string{"prod:shop/db", "prod:data/cache", "prod:shop/web"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	web := members[2]
	if diff := cmp.Diff(map[string]any{"image": map[string]any{"tag": "v1.10"}, "replicas": float64(5), "text": "1.10", "escaped": "${TAG}"}, web.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	got := []any{web.Sources, web.ValuesFiles, web.Needs, web.Recorded, web.Labels, *web.CreateNamespace, members[0].Timeout.Duration.String(), members[0].Values["replicas"]}
	want := []any{
		[]string{"chart", "oci://registry.example.com/web"},
		[]string{"common.yaml", "env/prod.yaml", "web.yaml"},
		[]int{0, 1},
		[]string{"db"},
		map[string]string{"team": "shop", FileLabel: "shop.prod"},
		true, "10m0s", float64(3),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, members, err = load(t, example, "test"); err != nil || members[2].String() != "shop-test/web" || members[1].Sources[0] != "none.yaml" || members[0].Sources[0] != "bitnami/postgresql" {
		t.Errorf("want the settings of the other environment, got %v, %+v", err, members)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	const db = "\n- {name: db, sources: [chart]}"
	for _, test := range []struct{ content, environment, want string }{
		{"name: shop\nreleases: [{title: web}]", "", `unknown field "title"`},
		{"releases: []", "", `name: "" is not a valid name of a file`},
		{"name: shop\nkind: Release", "", `kind: "Release" is not known; must be Releases`},
		{"name: shop\napiVersion: v1", "", `apiVersion: "v1" is not known; must be clm.cs.sap.com/v1alpha1`},
		{"name: shop\nreleases: []", "", "there are no releases in it"},
		{"name: shop\nreleases:" + db, "prod", `there is no environment "prod"; there are: none`},
		{"name: shop\nreleases:" + db + db, "", "release default/db is in the file twice"},
		{"name: shop\nreleases:" + db + "\n- {name: Web, sources: [chart]}", "", `releases[1]: name: invalid release name "Web"`},
		{"name: shop\nreleases: [{name: web}]", "", "releases[0] web: sources: a source is missing"},
		{"name: shop\nreleases: [{name: web, sources: [-]}]", "", "releases[0] web: sources: standard input cannot be a source in a file"},
		{"name: shop\nreleases: [{name: web, sources: [chart], environments: [prod]}]", "", `releases[0] web: environments: there is no environment "prod"`},
		{"name: shop\nreleases: [{name: web, namespace: a.b, sources: [chart]}]", "", `release web: namespace: "a.b" is not a valid namespace name`},
		{
			"name: shop\nreleases: [{name: cache, sources: [chart]}, {name: web, sources: [chart], dependsOn: [cahce]}]", "",
			`release default/web: dependsOn: there is no release "cahce" in the file; did you mean cache?`,
		},
		{
			"name: shop\nreleases:\n- {name: db, namespace: a, sources: [chart]}\n- {name: db, namespace: b, sources: [chart]}\n- {name: web, sources: [chart], dependsOn: [db]}", "",
			`there are several releases "db" in the file; must be NAMESPACE/NAME`,
		},
		{"name: shop\nreleases:\n- {name: a, sources: [chart], dependsOn: [b]}\n- {name: b, sources: [chart], dependsOn: [a]}", "", "it depends on itself, through others"},
		{"name: shop\ndefaults:\n  context: ${NONE}", "", "line 3: the variable NONE is not set; to write ${ itself: $${"},
		{"name: [", "", "yaml: "},
		{"name: shop\n---\nname: other", "", "it has several documents; must be one"},
		{"name: shop.test\nreleases:" + db, "", `name: "shop.test" is not a valid name of a file or an environment`},
		{"name: shop\ndefaults: {context: \"${EMPTY}\"}\nreleases:" + db, "", "line 2: the context is empty, because a variable is"},
		{"name: shop\ndefaults: {labels: {team: a b}}\nreleases:" + db, "", "release db: labels: team=a b is not a valid label"},
		{"name: shop\ndefaults: {labels: {clm.cs.sap.com/file: other}}\nreleases:" + db, "", "clm.cs.sap.com/file is a label that clm sets itself"},
		{"name: shop\ndefaults: {timeout: -5m}\nreleases:" + db, "", "release db: timeout: -5m0s is negative"},
	} {
		if _, _, err := load(t, test.content, test.environment); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "releases.yaml") {
			t.Errorf("%s: want an error with %q, got %v", test.content, test.want, err)
		}
	}
}
