// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// mortal is a process of clm that is killed at one of its writes, before it learns how the server has answered. Deaths
// at other requests, or after the answer, would leave the same: only writes change something.
type mortal struct {
	proxy  *proxy
	left   atomic.Int64
	killed atomic.Bool

	mu      sync.Mutex
	process *os.Process
}

func newMortal(t *testing.T) *mortal {
	t.Helper()
	m := &mortal{}
	m.proxy = newProxy(t, func(x *proxy) {
		x.after = func(request testenv.Request) bool {
			return !request.IsWrite() || request.Query.Has("dryRun") || !m.strike()
		}
	})
	return m
}

// strike counts a write, and reports whether the process was killed for it.
func (m *mortal) strike() bool {
	if m.left.Add(-1) != 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		m.killed.Store(true)
		_ = m.process.Kill()
	}
	return true
}

// run runs clm as a process that is killed at its k-th write, and reports whether it was.
func (m *mortal) run(p *place, k int, args ...string) bool {
	p.Helper()
	return m.runTo(p, 0, k, args...)
}

// runTo is run for a process that ends with an exit code if nobody kills it.
func (m *mortal) runTo(p *place, code, k int, args ...string) bool {
	p.Helper()
	m.left.Store(int64(k))
	m.killed.Store(false)
	command := p.through(m.proxy).command(args...)
	if program := os.Getenv("TEST_CLM"); program != "" {
		// It has no race detector, unlike this program, so it starts faster.
		command.Path = program
	}
	var said bytes.Buffer
	command.Stderr = &said
	m.mu.Lock()
	err := command.Start()
	m.process = command.Process
	m.mu.Unlock()
	if err != nil {
		p.Error(err)
		return false
	}
	err = command.Wait()
	m.mu.Lock()
	m.process = nil
	m.mu.Unlock()
	if got := command.ProcessState.ExitCode(); got != code && !m.killed.Load() {
		p.Errorf("clm %v, which nobody has killed: %v\n%s", args, err, said.String())
	}
	if m.killed.Load() {
		p.expireLock(args[1])
	}
	return m.killed.Load()
}

// expireLock removes the lock of a killed process, so that nobody has to wait until it expires.
func (p *place) expireLock(release string) {
	p.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm." + release}}
	if err := p.client.Delete(p.Context(), lease); client.IgnoreNotFound(err) != nil {
		p.Error(err)
	}
}

// TestDeath kills clm at each write of an apply and of a deletion: the next one has to finish, and nothing may be left
// over.
func TestDeath(t *testing.T) {
	t.Parallel()
	var next, applies, deletions atomic.Int64
	var group sync.WaitGroup
	for range 3 {
		w := &worker{place: newPlace(t), mortal: newMortal(t)}
		group.Go(func() {
			for more := true; more && !t.Failed(); {
				k := next.Add(1)
				applied, deleted := w.round(int(k))
				more = applied || deleted
				count(&applies, applied)
				count(&deletions, deleted)
			}
		})
	}
	group.Wait()
	t.Logf("killed at %d writes of an apply and %d of a deletion", applies.Load(), deletions.Load())
	// One for each object, at least.
	if applies.Load() < objectsOfTheCity || deletions.Load() < objectsOfTheCity {
		t.Errorf("killed at %d writes of an apply and %d of a deletion only", applies.Load(), deletions.Load())
	}
}

// killAtEach has several players kill clm at one write after the other, each in rounds of its own, until no process is
// killed in a round. The test fails if there were fewer deaths than the least number.
func killAtEach(t *testing.T, players int, least int64, player func(m *mortal) (round func(k int) (killed bool))) {
	t.Helper()
	var next, deaths atomic.Int64
	var group sync.WaitGroup
	for range players {
		round := player(newMortal(t))
		group.Go(func() {
			for killed := true; killed && !t.Failed(); {
				killed = round(int(next.Add(1)))
				count(&deaths, killed)
			}
		})
	}
	group.Wait()
	t.Logf("killed at %d writes", deaths.Load())
	if deaths.Load() < least {
		t.Errorf("killed at %d writes only", deaths.Load())
	}
}

// count counts how often the condition was true.
func count(n *atomic.Int64, condition bool) {
	if condition {
		n.Add(1)
	}
}

type worker struct {
	*place

	mortal *mortal
}

// round reports whether an apply and a deletion have been killed at their k-th write.
func (w *worker) round(k int) (applied, deleted bool) {
	w.Helper()
	c := newCity(w.place, fmt.Sprintf("n%d", k))
	applied = w.mortal.run(w.place, k, "apply", c.release, c.file)
	// Then there is nothing left to do for the second one.
	idle := c.ready()
	if got := w.clm("apply", c.release, c.file); got.code != 0 {
		w.Errorf("the apply after one that was killed at write %d: exit code %d\n%s", k, got.code, got.stderr)
	}
	c.expectApplied()
	if !idle {
		c.expectUnlocked()
	}
	deleted = w.mortal.run(w.place, k, "delete", c.release)
	gone := !c.recorded()
	if got := w.clm("delete", c.release); got.code != 0 && !gone {
		w.Errorf("the deletion after one that was killed at write %d: exit code %d\n%s", k, got.code, got.stderr)
	}
	c.expectDeleted()
	if !gone || !deleted {
		c.expectUnlocked()
	}
	if w.Failed() {
		w.Logf("killed at write %d", k)
	}
	return applied, deleted
}
