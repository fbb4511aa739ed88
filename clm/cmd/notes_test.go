// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// notedChart writes a chart with notes, and returns its folder.
func (p *place) notedChart(notes string) string {
	p.Helper()
	dir := p.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: noted, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), configMap("a", "{{ .Values.value }}"))
	p.write(filepath.Join(dir, "templates", "NOTES.txt"), notes)
	return dir
}

// TestNotes: what a chart has to say is shown when all is done, and kept with the revision.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.notedChart("\n{{ .Release.Name }} in {{ .Release.Namespace }} has {{ .Values.value }}.\n  \x1b[31mRead this.\n\n")
	notes := func(value string) string {
		return "web in " + p.namespace + " has " + value + ".\n  \\x1b[31mRead this.\n"
	}
	apply := func(value string, args ...string) []string {
		return append([]string{"apply", "web", chart, "--set", "value=" + value}, args...)
	}
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a dry run does nothing", apply("one", "--dry-run=server"), ""},
		{"an installation", apply("one"), notes("one")},
		{"nothing was done", apply("one"), ""},
		{"a change", apply("two"), notes("two")},
		{"they can be left out", apply("three", "--hide-notes"), ""},
		{"they are kept nevertheless", []string{"get", "notes", "web"}, notes("three")},
		{"so are those of before", []string{"get", "notes", "web", "--revision", "1"}, notes("one")},
		{"a rollback says nothing", []string{"rollback", "web", "2"}, ""},
		{"its revision has those of the former one", []string{"get", "notes", "web"}, notes("two")},
	} {
		got := p.must(test.args...).stdout
		if strings.Contains(test.reason, "dry run") {
			if strings.Contains(got, "Read this") {
				t.Errorf("%s: got %s", test.reason, got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s: clm %s: want %q, got %q", test.reason, strings.Join(test.args, " "), test.want, got)
		}
	}

	plan := filepath.Join(t.TempDir(), "plan")
	p.must("plan", "web", chart, "--set", "value=four", "--out", plan)
	if got := p.must("apply", "web", "--plan", plan).stdout; got != notes("four") {
		t.Errorf("want a saved plan to have the notes, got %q", got)
	}
	if got := p.must(apply("five", "-o", "json")...).stdout; strings.Contains(got, "Read this") {
		t.Errorf("want events only, got %s", got)
	}
	p.must("orphan", "web", "configmap/a", "--yes")
	if got := p.must("get", "notes", "web").stdout; got != notes("five") {
		t.Errorf("want a revision without an object to keep them, got %q", got)
	}
	p.must("delete", "web")

	failing := p.notedChart(`{{ fail "not like this" }}`)
	if got := p.clm("apply", "web", failing, "--set", "value=1"); got.code != 1 || !strings.Contains(got.stderr, "not like this") || p.configMap("a")["value"] != "five" {
		t.Errorf("want an error before anything is changed, got exit code %d\n%s", got.code, got.stderr)
	}
	p.must("apply", "plain", p.file("b.yaml", configMap("b", "1")))
	if got := p.must("get", "notes", "plain"); got.stdout != "" || got.stderr != "there are no notes\n" {
		t.Errorf("got %q and %q", got.stdout, got.stderr)
	}
	p.must("delete", "plain")
}

// TestRandomNamesOfHooks has a chart whose hooks get other names each time it is rendered, which is no change.
// Other content of a hook or a test is one.
func TestRandomNamesOfHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.notedChart("")
	templates := func(check, hook string) {
		p.write(filepath.Join(chart, "templates", "hooks.yaml"), fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: 'check-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: test}}
data: {value: %q}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: 'hook-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: 'post-install,post-upgrade'}}
data: {value: %q}
`, check, hook))
	}
	apply := func(args ...string) []string { return append(args, "web", chart, "--set", "value=1") }
	hooks := func() string { return strings.Join(p.names("v1", "ConfigMap"), " ") }
	templates("one", "one")
	p.must(apply("apply")...)
	before := hooks()
	p.expect(p.clm(apply("plan", "--exit-code")...), 0, "nothing to do")
	p.expect(p.must(apply("apply")...), 0, "revision 1, is up to date")
	p.expectHistory("Ready")

	templates("two", "one")
	p.expect(p.clm(apply("plan", "--exit-code")...), exitChanges)
	p.must(apply("apply")...)
	p.expect(p.must("get", "manifest", "web"), 0, "value: two")
	if after := hooks(); after == before {
		t.Errorf("want the hook to run with the next revision, got %s", after)
	}
	p.must("delete", "web")
}
