// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestHistorySaysWhyRevisionsHaveFailed also when a later revision is ready: shortened for people, and in full for programs.
func TestHistorySaysWhyRevisionsHaveFailed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")))
	bad := configMap("a", "1") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: NOT_A_NAME_" + strings.Repeat("x", 150) + "}}\n"
	p.expect(p.clm("apply", "web", p.file("bad.yaml", bad)), 1)
	for _, then := range []string{"while it is the current one", "when it is not"} {
		table := p.must("history", "web").stdout
		_, line, _ := strings.Cut(table, "\n2 ")
		line, _, _ = strings.Cut(line, "\n")
		if !strings.Contains(line, "applied; failed: ") || !strings.Contains(line, "NOT_A_NAME") || !strings.HasSuffix(line, "…") {
			t.Errorf("%s: want the reason in one line, shortened, got %s", then, table)
		}
		revisions := p.items(p.must("history", "web", "-o", "json").stdout)
		if failure := p.text(revisions[1], "status", "failure"); !strings.Contains(failure, strings.Repeat("x", 150)) || len(failure) < 200 {
			t.Errorf("%s: want the whole reason, got %q", then, failure)
		}
		if failure := p.text(revisions[0], "status", "failure"); failure != "" || p.text(revisions[1], "status", "description") != "applied" {
			t.Errorf("%s: want the description to stay, and no reason where nothing has failed, got %q", then, failure)
		}
		p.must("apply", "web", p.file("good.yaml", configMap("a", "2")))
	}
	p.must("delete", "web")
}
