// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceInGit applies one commit after the other: people see which commit is applied, and what it changes.
func TestSourceInGit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	folder := t.TempDir()
	commit := func(name, content string) string {
		t.Helper()
		p.write(filepath.Join(folder, name), content)
		var out []byte
		for _, args := range []string{"init --quiet --initial-branch=main .", "add --all", "-c user.name=me -c user.email=me@example.com commit --quiet --message=x", "rev-parse HEAD"} {
			command := exec.CommandContext(t.Context(), "git", strings.Fields(args)...)
			command.Dir = folder
			var err error
			if out, err = command.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", args, err, out)
			}
		}
		return strings.TrimSpace(string(out))
	}
	shows := func(reason, text string, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", reason, want, text)
			}
		}
	}
	source := "git::file://" + folder + "//deploy?ref=main"
	first := commit("deploy/a.yaml", configMap("a", "1"))
	shows("the first plan", p.must("plan", "web", source).stdout, "from "+source+" ("+first[:12]+")", "1 to create")
	p.must("apply", "web", source)
	second := commit("deploy/a.yaml", configMap("a", "2"))
	shows("a commit with a change", p.must("plan", "web", source, "--diff").stdout, "revision 2", "("+second[:12]+")", `+ value: "2"`)
	p.must("apply", "web", source)
	third := commit("README.md", "x")
	shows("a commit without a change of the objects", p.must("plan", "web", source, "-o", "markdown").stdout, "revision 2", "("+third[:12]+")", "nothing to do")
	p.must("apply", "web", source)
	shows("both commits in the history", p.must("history", "web").stdout, "1 Superseded 1", "("+first[:12]+")", "2 Ready 1", "("+second[:12]+")")
	shows("the whole commit, for programs", p.must("history", "web", "-o", "jsonpath={.items[*].status.sources[0].digest}").stdout, first+" "+second)
	shows("the whole commit in the status", p.must("status", "web").stdout, "manifests "+source+" ("+second+")")
	shows("a reference with the commit says all", p.must("plan", "web", strings.Replace(source, "main", first, 1)).stdout, "?ref="+first+" ")
	if got := p.configMap("a")["value"]; got != "2" {
		t.Errorf("want the second commit to be applied, got value %q", got)
	}
	p.expect(p.clm("plan", "web", strings.Replace(source, "main", second[:7], 1)), 1, "loading "+strings.Replace(source, "main", second[:7], 1)+": there is no branch or tag "+second[:7])
}
