// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPostRenderer: a program changes what a chart renders, hooks included.
func TestPostRenderer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	calls := filepath.Join(t.TempDir(), "calls")
	replace := `echo "$1" >> ` + calls + `; sed -e "s/plain/$1/" -e "s/name: hook/name: hooked/"`
	hook := strings.Replace(configMap("hook", "plain"), "{name: hook}", `{name: hook, annotations: {helm.sh/hook: "post-install,post-upgrade"}}`, 1)
	chart := p.chart(map[string]string{"a.yaml": configMap("a", "plain") + hook})
	manifests := p.file("b.yaml", configMap("b", "plain"))
	with := func(script string, args ...string) []string {
		flags := []string{"--post-renderer", "sh"}
		for _, arg := range append([]string{"-c", script, "renderer"}, args...) {
			flags = append(flags, "--post-renderer-args", arg)
		}
		return flags
	}
	apply := append([]string{"apply", "web", chart, manifests}, with(replace, "fancy")...)
	p.must(apply...)
	if a, hook, b := p.configMap("a")["value"], p.configMap("hooked")["value"], p.configMap("b")["value"]; a != "fancy" || hook != "fancy" || b != "plain" {
		t.Errorf("want the objects of the chart to be changed, and no others, got %q, %q, %q", a, hook, b)
	}
	if called, err := os.ReadFile(calls); err != nil || string(called) != "fancy\n" {
		t.Errorf("want one call with the argument, got %q, %v", called, err)
	}
	p.must(apply...)
	if history := p.items(p.must("history", "web", "-o", "json").stdout); len(history) != 1 {
		t.Errorf("want the same objects to make no revision, got %v", history)
	}
	for _, test := range []struct {
		reason   string
		renderer []string
		want     []string
	}{
		{"a failure", with("cat > /dev/null; echo no license >&2; exit 7"), []string{"post-rendering: running ", "sh: exit status 7: no license"}},
		{"no output", with("cat > /dev/null"), []string{"has written nothing to standard output, where it has to write all objects"}},
		{"output that is not valid YAML", with("cat > /dev/null; echo '{'"), []string{"output of the post-renderer"}},
		{"it does not exist", []string{"--post-renderer", filepath.Join(t.TempDir(), "none")}, []string{"post-renderer: ", "no such file or directory"}},
	} {
		t.Log(test.reason)
		p.expect(p.clm(append([]string{"apply", "web", chart}, test.renderer...)...), 1, test.want...)
	}
	p.expect(p.clm("template", "web", manifests, "--post-renderer", "cat"), 1, "a post-renderer is given, but no source is a chart")
	p.expect(p.clm("template", "web", chart, "--post-renderer-args", "x"), 1, "flag --post-renderer-args needs --post-renderer")
	if p.configMap("a")["value"] != "fancy" {
		t.Error("want errors to change nothing")
	}
	p.must("delete", "web")
}

// TestDeleteWhatDoesNotExist: pipelines delete what may be gone.
func TestDeleteWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.expect(p.clm("delete", "web"), 1, "not found")
	p.expect(p.clm("delete", "web", "--ignore-not-found"), 0, "release PLACE/web does not exist; nothing was deleted\n")
	p.must("apply", "web", p.file("a.yaml", configMap("a", "1")))
	p.must("delete", "web", "--ignore-not-found")
	if p.configMap("a") != nil {
		t.Error("want a release that exists to be deleted")
	}
	p.must("apply", "web", p.file("a.yaml", configMap("a", "1")))
	p.loseIndex("web")
	p.expect(p.clm("delete", "web", "--ignore-not-found"), 1, "there are parts of its record, which was lost")
	p.must("doctor", "web", "--fix")
	p.must("delete", "web")

	p.expect(p.clm("delete", "web", "--keep-history"), 1, "clm delete removes the history with the release; to keep what it was made of: clm get manifest web > FILE")
	p.expect(p.clm("rollback", "web", "--no-hooks"), 1, "hooks are objects of the release, in waves of their own")
	p.expect(p.clm("install", "web", ".", "--dependency-update"), 1, "clm dependency update CHART fetches the dependencies")
}
