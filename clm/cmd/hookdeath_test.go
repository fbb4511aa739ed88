// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestDeathDuringDeletionHooks kills clm at each request of a deletion with hooks, and has another process go on. No
// hook runs twice, none is left out.
func TestDeathDuringDeletionHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	var next, deaths atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		m := newMortal(t, true)
		group.Go(func() {
			for killed := true; killed && !t.Failed(); {
				k := int(next.Add(1))
				name := fmt.Sprintf("r%d", k)
				// One of the hooks takes the place of a dependent.
				p.succeeds("apply", name, p.file(name+".yaml", configMap(name+"-a", "1")+job(name+"-both")+
					job(name+"-both", "deletion-hook", "pre-delete")+job(name+"-z", "deletion-hook", "post-delete")))
				killed = m.run(p, k, "delete", name)
				count(&deaths, killed)
				if got := p.clm("delete", name); got.code != 0 && !strings.Contains(got.stderr, "not found") {
					p.Errorf("killed at request %d: exit code %d\n%s", k, got.code, got.stderr)
				}
				testenv.Eventually(p, func() (bool, string) {
					diff := cmp.Diff([]string{name + "-both", name + "-both", name + "-z"}, jobs(name+"-"))
					return diff == "", fmt.Sprintf("killed at request %d: hooks ran (-want +got):\n%s", k, diff)
				})
			}
		})
	}
	group.Wait()
	t.Logf("killed at %d requests", deaths.Load())
	if deaths.Load() < 25 {
		t.Errorf("killed at %d requests only", deaths.Load())
	}
	p.expectNothing()
}

// succeeds is must for goroutines.
func (p *place) succeeds(args ...string) {
	p.Helper()
	if got := p.clm(args...); got.code != 0 {
		p.Errorf("clm %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
}
