// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDryRuns gives the flag to commands with and without a value.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	commands := [][]string{{"apply", "web", source}, {"rollback", "web", "1"}, {"orphan", "web", "cm/a"}, {"delete", "web"}}
	for i, args := range commands {
		for _, flag := range []string{"--dry-run", "--dry-run=client", "--dry-run=server"} {
			before := p.versions()
			if got := p.must(append(args, flag)...); got.stdout == "" {
				t.Errorf("clm %s %s: want to be told what would be done", args[0], flag)
			}
			if diff := cmp.Diff(before, p.versions()); diff != "" {
				t.Errorf("clm %s %s: something was done (-before +after):\n%s", args[0], flag, diff)
			}
		}
		p.expect(p.clm(append(args, "--dry-run", "server")...), 1, "the value of --dry-run needs an equals sign: --dry-run=server")
		if i == 0 {
			p.must(append(args, "--dry-run=none")...)
			p.must("apply", "web", p.file("app.yaml", configMap("a", "2")))
		}
	}
	// That is the name of the release.
	p.must("apply", "server", p.file("other.yaml", configMap("other", "1")), "--dry-run")
	p.must("delete", "web", "--dry-run=none")
}
