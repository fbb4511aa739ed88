// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// valueChart writes a chart whose only object has some values, and returns its folder.
func (p *place) valueChart(values string) string {
	p.Helper()
	dir := p.chart(map[string]string{"a.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: {{ .Values | toJson | quote }}}}`})
	p.write(filepath.Join(dir, "values.yaml"), values)
	return dir
}

// TestValuesAsInHelm: the flags that people know from helm, in its order, and the values of an earlier revision.
func TestValuesAsInHelm(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.valueChart("a: 1\nb: 1\nkept: chart\n")
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"JSON", []string{"--set-json", `a=[1,{"x":"y"}],b={"c":null}`}, `{"a":[1,{"x":"y"}],"b":{"c":null},"kept":"chart"}`},
		{"an object in JSON", []string{"--set-json", `{"a": {"b": 2}}`}, `{"a":{"b":2},"b":1,"kept":"chart"}`},
		{"a literal text", []string{"--set-literal", `a=x,b=\y`}, `{"a":"x,b=\\y","b":1,"kept":"chart"}`},
		{"the order", []string{"--set-literal", "a=4", "--set-string", "a=3,b=3", "--set", "a=2,b=2", "--set-json", "a=1"}, `{"a":"4","b":"3","kept":"chart"}`},
		{"what is given replaces all", []string{"--set", "a=5"}, `{"a":5,"b":1,"kept":"chart"}`},
		{"unless the last ones are used", []string{"--set", "b=6", "--reset-then-reuse-values"}, `{"a":5,"b":6,"kept":"chart"}`},
		{"null returns to the chart", []string{"--set", "a=null", "--reset-then-reuse-values"}, `{"a":1,"b":6,"kept":"chart"}`},
	} {
		p.must(append([]string{"apply", "web", chart}, test.args...)...)
		if got := p.configMap("a")["value"]; got != test.want {
			t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
		}
	}
	p.expect(p.clm("template", "web", chart, "--set-json", "secret=}"), 1, "parsing --set-json secret: ")

	if got := p.must("get", "values", "web").stdout; got != "b: 6\n" {
		t.Errorf("want only what was given, got %s", got)
	}
	if got := p.must("get", "values", "web", "--all").stdout; got != "a: 1\nb: 6\nkept: chart\n" {
		t.Errorf("want the defaults of the chart, too, got %s", got)
	}
	p.write(filepath.Join(chart, "Chart.yaml"), "{apiVersion: v2, name: web, version: 2.0.0}")
	p.expect(p.clm("get", "values", "web", "-a"), 1, "it is web 2.0.0 now; the revision was made from web 1.0.0")
	p.must("delete", "web")
}

// TestLabelsOfReleases: users select their releases.
func TestLabelsOfReleases(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	p.must("apply", "web", source, "--labels", "team=shop,env=test")
	p.must("apply", "db", p.file("db.yaml", configMap("b", "1")))
	p.must("apply", "web", source)
	if history := p.items(p.must("history", "web", "-o", "json").stdout); len(history) != 1 {
		t.Errorf("want labels to stay without a new revision, got %v", history)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-l", "team=shop"}, "web\n"},
		{[]string{"--selector", "team!=shop"}, "db\n"},
		{[]string{"--filter", "^(web|shop)"}, "web\n"},
		{nil, "db\nweb\n"},
	} {
		if got := p.must(append([]string{"ls", "-q"}, test.args...)...).stdout; got != test.want {
			t.Errorf("clm ls %v: want %q, got %q", test.args, test.want, got)
		}
	}
	p.expect(p.clm("status", "web"), 0, "env=test,team=shop")
	p.must("apply", "web", source, "--labels", "env=null,cost=7")
	if got := p.text(p.items(p.must("ls", "-l", "cost=7,team=shop,!env", "-o", "json").stdout)[0], "metadata", "name"); got != "web" {
		t.Errorf("want labels to be merged, got %q", got)
	}
	p.expect(p.clm("apply", "web", source, "--labels", "a b=c"), 1, `invalid argument "a b=c" for "--labels" flag`)
	p.expect(p.clm("ls", "-l", "a in"), 1, "--selector")
	p.expect(p.clm("ls", "--filter", "("), 1, "--filter")
	p.must("delete", "web", "db")
	p.expect(p.clm("ls"), 0, "no releases found")
}

// TestCustomResourceDefinitionsCanBeLeftOut, but not those that would be deleted with all their objects.
func TestCustomResourceDefinitionsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.valueChart("")
	group := p.namespace + ".example.com"
	p.write(filepath.Join(chart, "crds", "things.yaml"), `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.`+group+`},
spec: {group: `+group+`, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	p.must("apply", "web", chart, "--skip-crds")
	if got := p.must("get", "manifest", "web").stdout; strings.Contains(got, "CustomResourceDefinition") {
		t.Errorf("want no definition, got %s", got)
	}
	p.must("apply", "web", chart)
	p.expect(p.clm("apply", "web", chart, "--skip-crds"), exitRefused,
		"CustomResourceDefinition things."+group+" belongs to release PLACE/web, and would be deleted because --skip-crds leaves it out")
	p.must("delete", "web")
}

// TestSelectedTemplates shows, or writes, what single files render.
func TestSelectedTemplates(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.chart(map[string]string{"a.yaml": configMap("a", "1") + configMap("b", "1"), "c.yaml": configMap("c", "1")})
	plain := p.file("plain.yaml", configMap("d", "1"))
	names := func(args ...string) string {
		var found []string
		for line := range strings.Lines(p.must(append([]string{"template", "web", chart, plain}, args...)...).stdout) {
			if name, ok := strings.CutPrefix(line, "  name: "); ok {
				found = append(found, strings.TrimSpace(name))
			}
		}
		return strings.Join(found, " ")
	}
	for want, args := range map[string][]string{
		"a b":     {"-s", "templates/a.yaml"},
		"c":       {"--show-only", "web/templates/c.yaml"},
		"a b c":   {"-s", "templates/*.yaml"},
		"a b d":   {"-s", "templates/a.yaml", "-s", plain},
		"a b c d": nil,
	} {
		if got := names(args...); got != want {
			t.Errorf("%v: want %s, got %s", args, want, got)
		}
	}
	p.expect(p.clm("template", "web", chart, "-s", "templates/none.yaml"), 1, `no object comes from "templates/none.yaml"; files with objects: web/templates/a.yaml, web/templates/c.yaml`)

	target := t.TempDir()
	said := p.must("template", "web", chart, "--output-dir", target).stdout
	first, err := os.ReadFile(filepath.Join(target, "web", "templates", "a.yaml"))
	if err != nil || strings.Count(string(first), "# Source: web/templates/a.yaml") != 2 || strings.Count(said, "wrote "+target) != 2 {
		t.Errorf("want a file for each template, got %s, %v: %s", said, err, first)
	}
}

// TestPartsOfARevision: what helm get and helm diff revision show.
func TestPartsOfARevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hook := strings.Replace(configMap("hook", "1"), "{name: hook}", `{name: hook, annotations: {helm.sh/hook: post-delete}}`, 1)
	chart := p.chart(map[string]string{"a.yaml": configMap("a", "{{ .Values.port }}") + configMap("{{ .Values.name }}", "1") + hook, "NOTES.txt": "Well done."})
	for _, name := range []string{"one", "two", "three"} {
		p.must("apply", "web", chart, "--set", "name="+name, "--set", "port="+name)
	}
	hooks := p.must("get", "hooks", "web").stdout
	if strings.Count(hooks, "kind:") != 1 || !strings.Contains(hooks, "name: hook") {
		t.Errorf("want only the hook, got %s", hooks)
	}
	p.expect(p.clm("get", "metadata", "web", "--revision", "1"), 0, "number: 1", "version: 1.0.0", "namespace: PLACE", "by: ")
	p.expect(p.clm("get", "all", "web"), 0, "number: 3", "port: three", "kind: ConfigMap", "notes: Well done.")

	history := p.must("history", "web", "--max", "2").stdout
	if strings.Count(history, "\n") != 3 || strings.Contains(history, "\n1 ") || !timePattern.MatchString(history) || !strings.Contains(history, "@") {
		t.Errorf("want the last two revisions, with times and users, got %s", history)
	}

	want := "+ ConfigMap two  (create)"
	p.expect(p.clm("diff", "web", "1", "2"), 0, want, "- ConfigMap one  (delete)", "-  value: one", "+  value: two", "1 to create, 1 to update, 1 to delete, 1 unchanged")
	p.expect(p.clm("diff", "web", "1", "--exit-code"), exitChanges, "+ ConfigMap three  (create)")
	p.expect(p.clm("diff", "web", "3", "3", "--exit-code"), 0, "nothing to do, 3 unchanged")
	p.expect(p.clm("diff", "web", "1", "9"), 1, "revision 9 of release PLACE/web: its content is no longer available; available revisions: 1, 2, 3")
	p.expect(p.clm("diff", "web", "1", "--set", "a=b"), 1, "flag --set is about sources; when revisions are compared, there are none")
	p.must("delete", "web")
}

// TestDeleteSeveral deletes one release after the other.
func TestDeleteSeveral(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{"a", "b", "c"} {
		p.must("apply", name, p.file("app.yaml", configMap(name, "1")))
	}
	p.expect(p.clm("delete", "a", "b", "--approve-deletions", "x"), 1, "flag --approve-deletions is for one release, and several are given")
	p.expect(p.clm("delete", "a", "none", "b"), 1, "release PLACE/none: not found")
	if got := p.names("v1", "ConfigMap"); !cmp.Equal(got, []string{"b", "c"}) {
		t.Errorf("want the first one to be deleted, got %v", got)
	}
	p.must("delete", "none", "b", "c", "--ignore-not-found")
	p.expectNothing()
}

// TestRowsOfAPlan: many objects that change alike need one row, in the terminal and in a pull request.
func TestRowsOfAPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	manifest := func(version string) string {
		var all strings.Builder
		for _, name := range strings.Split("abcdef", "") {
			all.WriteString(strings.Replace(configMap(name, name), "{name: "+name+"}", "{name: "+name+", labels: {version: "+version+"}}", 1))
		}
		return p.file("all.yaml", all.String()+configMap("other", version))
	}
	p.must("apply", "web", manifest("v1"))
	next := manifest("v2")
	p.expect(p.clm("plan", "web", next), 0, `~ 6 objects  (update: the manifest changed)
    ConfigMap PLACE/a, ConfigMap PLACE/b, ConfigMap PLACE/c, and 3 more
    - version: v1
    + version: v2
~ ConfigMap PLACE/other  (update: the manifest changed)
7 to update
`)
	p.expect(p.clm("plan", "web", next, "-o", "markdown", "--diff"), 0,
		"| 6 objects: ConfigMap PLACE/a, ConfigMap PLACE/b, ConfigMap PLACE/c, and 3 more<br>- version: v1<br>+ version: v2 | update | the manifest changed |\n",
		"  the same in 5 other objects\n")
	if got := p.must("diff", "web", next).stdout; strings.Count(got, "+    version: v2") != 6 {
		t.Errorf("want a diff to show each object, got %s", got)
	}
	p.must("delete", "web")
}

// TestHintsForUsersOfHelm: a flag that does not exist names what there is instead.
func TestHintsForUsersOfHelm(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, test := range [][]string{
		{"clm apply creates a release that does not exist", "upgrade", "web", ".", "-i"},
		{"its first argument", "install", "web", ".", "--generate-name"},
		{"also creates a release again that was deleted", "install", "web", ".", "--replace"},
		{"clm plan asks the API server", "template", "web", ".", "--validate"},
		{"--skip-crds leaves them out", "template", "web", ".", "--include-crds"},
		{"--state Failed", "ls", "--failed"},
		{"in all states", "ls", "-a"},
		{"--reset-then-reuse-values uses the values", "upgrade", "web", ".", "--reuse-values"},
	} {
		p.expect(p.clm(test[1:]...), 1, test[0])
	}
	p.expect(p.clm("ls", "--kube-context", "none"), 1, `context "none" does not exist`)
}

// TestImages lists images for a registry that has no access to the internet.
func TestImages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.chart(map[string]string{"a.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      initContainers: [{name: init, image: busybox}]
      containers:
      - name: main
        image: example.com/web:{{ .Values.tag }}
        env: [{name: RELATED_IMAGE, value: example.com/sidecar@sha256:12}, {name: IMAGE_SIZE, value: "1:2"}, {name: BASE_IMAGE, value: none}]
      volumes: [{name: model, image: {reference: example.com/model:1}}]
---
{apiVersion: example.com/v1, kind: Database, metadata: {name: db}, spec: {image: postgres:17, backup: {agentImage: "example.com/agent:2", imagePullPolicy: Always, image: "https://x/y"}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: job, annotations: {helm.sh/hook: test}}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: busybox}]}}}}}}
`})
	if got, want := p.must("images", chart, "--set", "tag=1.2", "-q").stdout,
		"busybox\nexample.com/agent:2\nexample.com/model:1\nexample.com/sidecar@sha256:12\nexample.com/web:1.2\npostgres:17\n"; got != want {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
	first := p.items(p.must("images", chart, "--set", "tag=1.2", "-o", "json").stdout)[0]
	if field, file := p.text(first, "status", "field"), p.text(first, "status", "file"); field != "spec.jobTemplate.spec.template.spec.containers[0].image" || file != "web/templates/a.yaml" {
		t.Errorf("want where the image comes from, got %q, %q", field, file)
	}
	p.expect(p.clm("images", chart, "--set", "tag=1.2"), 0, "IMAGE", "example.com/web:1.2", "Deployment web", "spec.template.spec.containers[0].image", "web/templates/a.yaml")
	p.expect(p.clm("images", p.file("a.yaml", configMap("a", "1"))), 0, "no images found")
}

// TestMistypedValues: what Helm ignores silently is named, and refused on demand; so are fields of objects.
func TestMistypedValues(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.chart(map[string]string{"a.yaml": configMap("a", "{{ .Values.controller.replicaCount }}")})
	p.write(filepath.Join(chart, "values.yaml"), "controller: {replicaCount: 1, image: {tag: a}}\n")
	args := []string{chart, "--set", "controller.replicas=2,replicaCount=3,controller.image.tagg=x,controller.image.tag=y"}
	apply := append([]string{"apply", "web"}, args...)
	notes := []string{
		"note: chart web has no value controller.image.tagg; did you mean controller.image.tag?\n", "note: chart web has no value controller.replicas; did you mean controller.replicaCount?\n",
		"note: chart web has no value replicaCount; did you mean controller.replicaCount?\n",
	}
	p.expect(p.clm(append([]string{"plan", "web"}, args...)...), 0, notes...)
	p.expect(p.clm(append([]string{"plan", "web", "-o", "markdown"}, args...)...), 0, "\nWithout effect: chart web has no value controller.image.tagg; did you mean")
	p.expect(p.clm(append([]string{"lint"}, args...)...), 0, "warning: chart web has no value controller.replicas", "0 errors, 3 warnings")
	p.expect(p.clm(append(apply, "--strict")...), exitRefused, "--strict allows only values that a chart has: chart web has no value controller.image.tagg")
	if p.configMap("a") != nil {
		t.Error("want nothing to be applied")
	}
	p.expect(p.clm(apply...), 0, notes...)
	if got := p.must("apply", "web", chart, "--strict", "--set", "controller.replicaCount=4").stderr; strings.Contains(got, "note:") {
		t.Errorf("want no note about a value that there is, got %s", got)
	}
	p.must("delete", "web")

	unknown := p.file("unknown.yaml", strings.Replace(deployment("web", "", ""), "spec:", "spec:\n  replcias: 2", 1))
	p.expect(p.clm("plan", "web", unknown), 0, "unknown fields were left out: ")
	p.expect(p.clm("apply", "web", unknown, "--strict"), exitRefused, "--strict allows no fields that a type does not have: Deployment PLACE/web: unknown fields were left out: ", "replcias")
	file := p.file("releases.yaml", "{name: all, releases: [{name: web, sources: ["+chart+"], values: {controler: {}}}]}")
	p.expect(p.clm("up", "plan", "-f", file), 0, "PLACE/web: note: chart web has no value controler; did you mean controller?")
	p.expect(p.clm("up", "-f", file, "--strict"), exitRefused, "release PLACE/web: --strict allows only values that a chart has: chart web has no value controler")
	p.expectNothing()
}
