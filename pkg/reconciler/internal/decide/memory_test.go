// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

func TestRepetition(t *testing.T) {
	t.Parallel()
	p := Pacing{free: 2, Step: time.Second, limit: 5 * time.Second, calm: time.Minute}
	now := time.Unix(1000, 0)
	var r Repetition
	for i, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		if got := r.Wait(now, p); got != want {
			t.Errorf("occurrence %d: got a delay of %s, want %s", i, got, want)
		}
		now = now.Add(r.Wait(now, p))
		if got := r.Wait(now, p); got != 0 {
			t.Errorf("occurrence %d: after its delay it may happen, got %s", i, got)
		}
		r.Happened(now)
	}
	if got := r.Wait(now.Add(time.Second), p); got != 4*time.Second {
		t.Errorf("time that passed counts, got %s", got)
	}
	if got := r.Wait(now.Add(-time.Hour), p); got != time.Hour+5*time.Second {
		t.Errorf("a clock that is set back must not lead to a hot loop, got %s", got)
	}
	if got := r.Wait(now.Add(time.Minute), p); got != 0 || r.Count == 0 {
		t.Errorf("within the calm the count stays, got %s and %d", got, r.Count)
	}
	if got := r.Wait(now.Add(time.Minute+1), p); got != 0 || r.Count != 0 {
		t.Errorf("after the calm it starts afresh, got %s and %d", got, r.Count)
	}
	r = Repetition{Count: 1 << 40, last: now}
	if got := r.delay(p); got != p.limit {
		t.Errorf("the delay must not overflow, got %s", got)
	}
}

// TestDeletionFailed leaves the first retry to the API server, doubles the intervals, and ends.
func TestDeletionFailed(t *testing.T) {
	t.Parallel()
	now, m, retries := time.Unix(1000, 0), ObjectMemory{}, 0
	for seconds := 1; seconds <= 512; seconds *= 2 {
		retry, wait := m.DeletionFailed(now)
		if want := time.Duration(seconds%256) * time.Second; wait != want || retry != (seconds > 1 && seconds <= 256) {
			t.Errorf("got %t and %s, want to wait for %s", retry, wait, want)
		}
		if again, rest := m.DeletionFailed(now); again || rest != wait {
			t.Errorf("got %t and %s before the interval is over", again, rest)
		}
		if retry {
			retries++
		}
		now = now.Add(max(wait, time.Hour))
	}
	if retries != 8 {
		t.Errorf("got %d retries", retries)
	}
}

func TestPacings(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Pacing{"correction": CorrectionPacing(time.Hour), "verification": VerificationPacing(time.Hour), "retry": retryPacing} {
		now, r, total := time.Unix(0, 0), Repetition{}, time.Duration(0)
		for range 100 {
			delay := r.Wait(now, p)
			if delay < 0 || delay > p.limit {
				t.Fatalf("%s: delay %s", name, delay)
			}
			now, total = now.Add(delay), total+delay
			r.Happened(now)
		}
		if r.Count != 100 {
			t.Errorf("%s: a fight that goes on must not be forgotten, count is %d", name, r.Count)
		}
		if total < 80*p.limit {
			t.Errorf("%s: the delay does not reach its limit: %s in total", name, total)
		}
	}
	for _, tc := range []struct {
		reason string
		pacing Pacing
		want   time.Duration
	}{
		{"the reapply interval of the object is the limit of corrections", CorrectionPacing(2 * time.Hour), 2 * time.Hour},
		{"a short one does not make a fight a hot loop", CorrectionPacing(time.Second), 10 * time.Minute},
		{"the reapply interval is the limit of verifications", VerificationPacing(2 * time.Minute), 2 * time.Minute},
		{"a short one does not have an object verified with each write of others", VerificationPacing(time.Second), time.Minute},
	} {
		if got := (&Repetition{Count: 50}).delay(tc.pacing); got != tc.want {
			t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	a, b := types.ObjectID{Name: "a"}, types.ObjectID{Name: "b"}
	if m.For("o").Peek(a) != nil {
		t.Error("nothing is remembered")
	}
	m.For("o").Of(a).Fight = "x"
	m.For("o").Of(b).Fight = "y"
	m.For("p").Of(a).Fight = "z"
	if m.For("o").Peek(a).Fight != "x" || m.For("p").Peek(a).Fight != "z" {
		t.Error("owners must be told apart")
	}
	kept := &inventory.Item{NameInfo: inventory.NameInfo{Name: "b"}}
	m.For("o").Retain(&prepare.Set{Source: prepare.Source{Version: "1"}})
	m.For("p").Retain(&prepare.Set{})
	m.For("o").Keep([]*inventory.Item{kept})
	if m.For("o").Recall() == nil || m.For("p").Recall() != nil {
		t.Error("what was computed is kept as long as there is an inventory, provided that it can be recognised")
	}
	if m.For("o").Peek(a) != nil || m.For("o").Peek(b) == nil || m.For("p").Peek(a) == nil {
		t.Error("only what is not wanted by this owner is forgotten")
	}
	for _, owner := range []string{"o", "p", "unknown"} {
		m.For(owner).Keep(nil)
	}
	if len(m.owners) != 0 {
		t.Errorf("owners leak: %v", m.owners)
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
