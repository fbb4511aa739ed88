// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shop is a file with twelve releases, some of which depend on others.
const shop = `
name: shop
defaults:
  labels: {team: shop}
environments:
  test:
    variables: {TAG: one}
releases:
- name: web
  sources: [web]
  values:
    tag: "${TAG}"
  dependsOn: [db, things, cache]
- {name: db, sources: [db.yaml]}
- {name: definitions, sources: [definition.yaml]}
- {name: things, sources: [thing.yaml], dependsOn: [definitions]}
- {name: cache, sources: [cache.yaml], dependsOn: [db]}
- {name: shop-a, sources: [a.yaml], dependsOn: [web]}
- {name: shop-b, sources: [b.yaml]}
- {name: shop-c, sources: [c.yaml]}
- {name: shop-d, sources: [d.yaml]}
- {name: shop-e, sources: [e.yaml]}
- {name: shop-f, sources: [f.yaml]}
- {name: shop-g, sources: [g.yaml]}
`

// shop returns the file with a name of its own, and with replacements.
func (p *place) shop(replacements ...string) string {
	return strings.NewReplacer(append(replacements, "name: shop\n", "name: "+p.namespace+"\n")...).Replace(shop)
}

// shopFolder writes the file with its sources, and returns its path.
func (p *place) shopFolder() string {
	p.Helper()
	dir, group := p.TempDir(), p.namespace+".example.com"
	for _, name := range strings.Split("db cache a b c d e f g", " ") {
		p.write(filepath.Join(dir, name+".yaml"), configMap(name, "1"))
	}
	p.write(filepath.Join(dir, "web", "Chart.yaml"), "{apiVersion: v2, name: web, version: 1.0.0}")
	p.write(filepath.Join(dir, "web", "values.yaml"), "tag: none")
	p.write(filepath.Join(dir, "web", "templates", "all.yaml"), configMap("web", "{{ .Values.tag }}"))
	p.write(filepath.Join(dir, "definition.yaml"), `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.`+group+`}, spec: {group: `+group+
		`, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	p.write(filepath.Join(dir, "thing.yaml"), "{apiVersion: "+group+"/v1, kind: Thing, metadata: {name: thing}}")
	p.write(filepath.Join(dir, "releases.yaml"), p.shop())
	return dir
}

// revisions returns the numbers of the current revisions of releases that are ready.
func (p *place) revisions() map[string]string {
	p.Helper()
	found := map[string]string{}
	for line := range strings.Lines(p.must("ls", "--state", "Ready").stdout) {
		if fields := strings.Fields(line); fields[0] != "NAME" {
			found[fields[0]] = fields[1]
		}
	}
	return found
}

// TestUp applies twelve releases of one file, changes them, and deletes them.
func TestUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := p.shopFolder()
	file := filepath.Join(dir, "releases.yaml")
	up := func(args ...string) []string {
		return append(append([]string{"up"}, args...), "-f", file, "-e", "test")
	}
	// A plan for all, in which some come later.
	plan := p.must(up("plan", "-o", "markdown")...).stdout
	if strings.Count(plan, "### Release PLACE/") == 0 && strings.Count(plan, "### Release "+p.namespace+"/") != 11 {
		t.Errorf("want a heading for each release that has a plan, got %s", plan)
	}
	p.expect(result{stdout: plan}, 0, "release PLACE/things is planned after release PLACE/definitions: ", "release PLACE/web is planned again after release PLACE/db, release PLACE/things, release PLACE/cache")
	p.expect(p.clm(up("plan", "--exit-code")...), exitChanges)
	if left := p.records(); len(left) > 0 {
		t.Errorf("want a plan to change nothing, got %v", left)
	}

	// In the order of dependencies.
	said := p.must(up()...).stderr
	for _, pair := range [][2]string{{"definitions", "things"}, {"db", "cache"}, {"cache", "web"}, {"things", "web"}, {"web", "shop-a"}} {
		ready, applied := strings.Index(said, p.namespace+"/"+pair[0]+", revision 1, is ready"), strings.Index(said, "apply "+p.namespace+"/"+pair[1]+" revision 1")
		if ready < 0 || applied < ready {
			t.Errorf("want %s to be applied when %s is ready, got %s", pair[1], pair[0], said)
		}
	}
	p.expect(result{stderr: said}, 0, "PLACE/shop-b: ConfigMap PLACE/b: created\n", "12 of 12 releases as in the file\n")
	p.expect(p.clm(up("status")...), 0, "shop-g")
	if got := p.must("ls", "-q", "-l", "team=shop").stdout; strings.Count(got, "\n") != 12 {
		t.Errorf("want all to have the label, got %s", got)
	}

	// What is unchanged costs one request each, besides those for all.
	log := p.must(append(up(), "-v", "6")...).stderr
	requests := regexp.MustCompile(`verb="(\w+)" url="https://[^/]+(/api/v1/[^"]+)"`).FindAllStringSubmatch(log, -1)
	read := 0
	for _, request := range requests {
		switch {
		case request[1] == "GET" && strings.Contains(request[2], "/secrets/clm."):
			read++
		case request[1] == "GET" && strings.Contains(request[2], "/secrets?labelSelector="):
		default:
			t.Errorf("unexpected request: %v", request)
		}
	}
	if read != 12 {
		t.Errorf("want each record to be read once, got %d reads: %s", read, log)
	}

	// One value changes.
	p.write(file, p.shop("TAG: one", "TAG: two"))
	plan = p.must(up("plan", "-o", "markdown")...).stdout
	if strings.Count(plan, "### Release ") != 1 || !strings.Contains(plan, "10 releases up to date: ") || !strings.Contains(plan, "/shop-a is planned again after release "+p.namespace+"/web") {
		t.Errorf("want a plan for the release that changes, got %s", plan)
	}
	p.must(up()...)
	if got := p.revisions(); got["web"] != "2" || got["db"] != "1" || p.configMap("web")["value"] != "two" {
		t.Errorf("want only web to change, got %v", got)
	}

	// A mistake in one release is found before anything is applied, if the server is asked.
	p.write(filepath.Join(dir, "b.yaml"), configMap("b", "2"))
	p.write(filepath.Join(dir, "c.yaml"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {value: 1}}")
	p.expect(p.clm(append(up(), "--diff")...), exitRefused, "release PLACE/shop-c: the API server rejects 1 of the objects")
	if p.configMap("b")["value"] != "1" {
		t.Error("want nothing to be applied")
	}

	// One that fails holds back those that depend on it, and no others.
	p.write(filepath.Join(dir, "c.yaml"), configMap("c", "1"))
	p.write(filepath.Join(dir, "db.yaml"), configMap("db", "2")+strings.Replace(deployment("stuck", neverReady, ""), "spec:", "spec:\n  progressDeadlineSeconds: 1", 1))
	p.write(filepath.Join(dir, "a.yaml"), configMap("a", "2"))
	p.expect(p.clm(up()...), exitNotReady, "PLACE/shop-a: not applied, because it depends on release PLACE/web\n",
		"8 of 12 releases as in the file, 1 failed, 3 not applied; to continue, run the same command again\n")
	if p.configMap("b")["value"] != "2" || p.configMap("a")["value"] != "1" {
		t.Error("want the others to be applied, and what depends on the failed one not to be")
	}
	p.write(filepath.Join(dir, "db.yaml"), configMap("db", "2"))
	p.must(up()...)
	if p.configMap("a")["value"] != "2" {
		t.Error("want the same command to continue")
	}

	// What is not in the file any more is named, and deleted on demand.
	config, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	p.write(file, p.shop("TAG: one", "TAG: two", "- {name: shop-g, sources: [g.yaml]}\n", "", "sources: [f.yaml]", "sources: [f.yaml], context: "+config.CurrentContext))
	p.expect(p.clm(up()...), 0, "note: release PLACE/shop-g is not in "+file+" any more; --delete-missing deletes it\n")
	if p.configMap("g") == nil {
		t.Error("want nothing to be deleted unasked")
	}
	p.expect(p.clm(append(up(), "--delete-missing")...), exitRefused, "ConfigMap PLACE/g", "--yes")
	p.expect(p.clm(append(up(), "--delete-missing", "--yes")...), 0, "shop-g")
	if p.configMap("g") != nil || p.configMap("f") == nil {
		t.Error("want the release to be deleted, and no other, although one has got a context")
	}
	p.must(up("delete", "--yes")...)
	p.expectNothing()
	p.expect(p.clm(up("status")...), exitNotReady, "was not applied yet")
}

// TestUpKeepsItsPlace: a file may be used for several namespaces, and names only what is in them.
func TestUpKeepsItsPlace(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t), newPlace(t)
	dir := p.TempDir()
	file := filepath.Join(dir, "releases.yaml")
	list := func(releases string) { p.write(file, "name: PLACE\ndefaults: {values: {a: b}}\nreleases:\n"+releases) }
	for _, name := range []string{"a", "b"} {
		p.write(filepath.Join(dir, name+".yaml"), configMap(name, "1"))
	}
	const a, b = "- {name: a, sources: [a.yaml]}\n", "- {name: b, sources: [b.yaml]}\n"
	list(a + b)
	p.must("up", "-f", file)
	list(a)
	other.must("up", "-f", file, "--delete-missing", "--yes")
	other.must("up", "delete", "-f", file, "--yes")
	if p.configMap("a") == nil || p.configMap("b") == nil || other.configMap("a") != nil {
		t.Error("want the releases in the other namespace to be deleted, and no others")
	}
	// Somebody else cannot have a release deleted by a label.
	p.expect(p.clm("apply", "a", filepath.Join(dir, "a.yaml"), "--labels", "clm.cs.sap.com/file=x"), 1, "clm.cs.sap.com/file is a label that clm sets itself")

	// What cannot be rendered is an error, even if it may be rendered later.
	chart := p.chart(map[string]string{"a.yaml": `{{ fail "the password is missing" }}`})
	list(b + "- {name: bad, sources: [" + chart + "], dependsOn: [b]}\n")
	p.write(filepath.Join(dir, "b.yaml"), configMap("b", "2"))
	p.expect(p.clm("up", "plan", "-f", file), 0, "release PLACE/bad is planned after release PLACE/b: ", "the password is missing")
	p.expect(p.clm("up", "-f", file, "-o", "json"), 1, "PLACE/bad: ", "the password is missing", "1 of 2 releases as in the file, 1 failed")
	p.expect(p.clm("up", "plan", "-f", file, "-o", "json"), 1, "the password is missing")
	p.must("up", "delete", "-f", file, "--yes")
	p.must("delete", "a")
}

// TestUpContinues: clm is killed in the middle again and again, and the same command completes the work.
func TestUpContinues(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir, m := p.shopFolder(), newMortal(t)
	args := []string{"up", "-f", filepath.Join(dir, "releases.yaml"), "-e", "test"}
	deaths := 0
	for i, k := range []int{1, 4, 9, 17, 26, 36} {
		value := fmt.Sprint(i)
		for _, name := range strings.Split("db cache a b c d e f g", " ") {
			p.write(filepath.Join(dir, name+".yaml"), configMap(name, value))
		}
		if m.run(p, k, args...) {
			deaths++
		}
		if err := p.client.DeleteAllOf(p.Context(), &coordinationv1.Lease{}, client.InNamespace(p.namespace)); err != nil {
			t.Fatal(err)
		}
		p.must(args...)
		for _, name := range strings.Split("db cache a b c d e f g", " ") {
			if got := p.configMap(name)["value"]; got != value {
				t.Errorf("killed at write %d: want value %s of %s, got %q", k, value, name, got)
			}
		}
		if got := p.revisions(); len(got) != 12 {
			t.Errorf("killed at write %d: want all releases to be ready, got %v", k, got)
		}
	}
	if deaths < 5 {
		t.Errorf("killed only %d times", deaths)
	}
	p.must(slices.Concat(args[:1], []string{"delete", "--yes"}, args[1:])...)
	p.expectNothing()
}

// TestConvertHelmfile reads what most files of helmfile have, and names the rest.
func TestConvertHelmfile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.must("up", "--convert", p.file("helmfile.yaml", `
repositories:
- {name: bitnami, url: https://charts.example.com/bitnami}
- {name: ours, url: registry.example.com/charts, oci: true}
helmDefaults: {createNamespace: true, timeout: 600, atomic: true}
environments:
  prod: {kubeContext: prod, values: [prod.yaml]}
releases:
- {name: db, namespace: data, chart: bitnami/postgresql, version: ~1.2, values: [db.yaml, {auth: {user: shop}}], set: [{name: image.tag, value: "1,2"}], labels: {tier: 1}}
- {name: web, namespace: shop, chart: ./web, needs: [data/db, prod/shop/cache], hooks: []}
- {name: cache, namespace: shop, chart: ours/redis}
- {name: old, chart: ours/old, installed: false}
`))
	want := `apiVersion: clm.cs.sap.com/v1alpha1
defaults:
  createNamespace: true
  timeout: 10m0s
environments:
  prod:
    context: prod
kind: Releases
name: helmfile
releases:
- dependsOn: []
`
	want = strings.Replace(want, "- dependsOn: []\n", `- labels:
    tier: "1"
  name: db
  namespace: data
  sources:
  - https://charts.example.com/bitnami#postgresql
  values:
    auth:
      user: shop
    image:
      tag: 1,2
  valuesFiles:
  - db.yaml
  version: ~1.2
- dependsOn:
  - data/db
  - shop/cache
  name: web
  namespace: shop
  sources:
  - ./web
- name: cache
  namespace: shop
  sources:
  - oci://registry.example.com/charts/redis
`, 1)
	if diff := cmp.Diff(want, got.stdout); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p.expect(got, 0, "note: helmDefaults: atomic is not converted\n", "note: environments.prod: values are not converted: they are for templates\n",
		"note: releases[1] web: hooks is not converted\n", "note: releases[3] old: it is not installed, and left out\n")
	p.expect(p.clm("up", "--convert", p.file("helmfile.yaml", "releases: [{name: '{{ .Environment.Name }}'}]")), 1, "it has templates, and only a file without any can be converted")
	p.expect(p.clm("up", "-f", "none.yaml"), 1, "none.yaml: no such file")
	p.expect(p.clm("up", "-f", p.file("a.yaml", "{name: a, releases: [{name: a, context: none, sources: [x]}]}")), 1, `context "none" does not exist`)
}
