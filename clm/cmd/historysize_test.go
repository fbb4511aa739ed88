// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestHistoryHasALimitOfBytes has revisions of which each takes more than 40 kB in the cluster, because they have
// nothing in common.
func TestHistoryHasALimitOfBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	apply := func(revision uint64, args ...string) {
		t.Helper()
		random := rand.New(rand.NewPCG(revision, 0))
		text := strings.Builder{}
		for text.Len() < 90_000 {
			_, _ = fmt.Fprintf(&text, "%016x", random.Uint64())
		}
		p.must(append([]string{"apply", "web", p.file("app.yaml", configMap("a", text.String()))}, args...)...)
	}
	revisions := func() string {
		return p.must("history", "web", "-o", "jsonpath={.items[*].status.number}").stdout
	}
	for revision := range uint64(4) {
		apply(revision + 1)
	}
	for i, step := range []struct{ reason, flags, want string }{
		{"no limit", "--history-max-bytes=0", "1 2 3 4 5"},
		{"the oldest go first", "--history-max-bytes=150Ki", "4 5 6"},
		{"the number of revisions is limited as well", "--history-max-bytes=10Mi --history-max=2", "6 7"},
		{"the current one stays, however large it is", "--history-max-bytes=1", "8"},
		{"a unit of another kind", "--history-max-bytes=0.2M", "8 9"},
	} {
		if apply(uint64(i+5), strings.Fields(step.flags)...); revisions() != step.want { //nolint:gosec // it is an index
			t.Errorf("%s: want revisions %s, got %s", step.reason, step.want, revisions())
		}
	}
	p.must("rollback", "web", "8")
	p.expect(p.clm("rollback", "web", "1"), exitRefused, "has no revision 1; to list its revisions: clm history web")
}
