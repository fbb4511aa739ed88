// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/panics"
	"github.com/component-operator/runtime/pkg/types"
)

// sleeper is a generator that takes its time. Its object tells the digest of the inputs.
type sleeper struct {
	// takes is how long a call takes, if its context does not end it.
	takes time.Duration
	// deaf means that it ignores its context.
	deaf bool
	// mistake is what it panics with; empty for none.
	mistake string
	pure    bool

	mu sync.Mutex
	// calls and running are the numbers of calls, and of those that have not returned; most is the maximum of the latter.
	calls, running, most int
}

func (g *sleeper) Generate(ctx context.Context, _, name string, _ types.Unstructurable) ([]client.Object, error) {
	g.note(1)
	defer g.note(-1)
	listen := ctx.Done()
	if g.deaf {
		listen = nil
	}
	select {
	case <-time.After(g.takes):
	case <-listen:
		return nil, ctx.Err()
	}
	if g.mistake != "" {
		panic(g.mistake)
	}
	return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}}, nil
}

func (g *sleeper) Fingerprint() string {
	if g.pure {
		return "sleeper"
	}
	return ""
}

func (g *sleeper) note(more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += more
	g.most = max(g.most, g.running)
	if more > 0 {
		g.calls++
	}
}

// count returns the number of calls, and the maximum side by side.
func (g *sleeper) count() (calls, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls, g.most
}

type parameters struct{}

func (parameters) ToUnstructured() map[string]any { return nil }

// desk has the calls, and what they have reported.
type desk struct {
	t      *testing.T
	calls  *Calls
	memory map[string]*Memory

	mu     sync.Mutex
	woken  []string
	took   []time.Duration
	panics int
}

func newDesk(t *testing.T, limit int) *desk {
	t.Helper()
	d := &desk{t: t, memory: map[string]*Memory{}}
	d.calls = NewCalls(Options{
		Limit: limit, Patience: time.Second,
		Wake: func(component apitypes.NamespacedName) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.woken = append(d.woken, component.Name)
		},
		Took: func(duration time.Duration) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.took = append(d.took, duration)
		},
		Panics: &panics.Catcher{Count: func() { d.panics++ }},
	})
	t.Cleanup(d.calls.Close)
	return d
}

// pass generates for a component, and returns what came out: the name of the object, or the error.
func (d *desk) pass(g *sleeper, component, digest string) string {
	d.t.Helper()
	return d.urgentPass(g, component, digest, false)
}

func (d *desk) urgentPass(g *sleeper, component, digest string, urgent bool) string {
	d.t.Helper()
	if d.memory[component] == nil {
		d.memory[component] = &Memory{}
	}
	result, err := Generate(d.t.Context(), d.calls, d.memory[component], Request{
		Component: apitypes.NamespacedName{Name: component}, Generator: g, Inputs: Inputs{Digest: digest, Name: digest}, Timeout: 10 * time.Second, Urgent: urgent,
		Reconciler: "demo.example.io", Scheme: runtime.NewScheme(),
		Prepare:       func() (context.Context, types.Unstructurable) { return context.Background(), parameters{} },
		LookedAtTypes: func(bool) {}, Log: logr.Discard(),
	})
	if err != nil {
		if _, unfinished := errors.AsType[*UnfinishedError](err); unfinished {
			return "unfinished: " + err.Error()
		}
		return "error: " + err.Error()
	}
	return result.Objects[0].GetName()
}

func (d *desk) check(reason, want, got string) {
	d.t.Helper()
	if !strings.HasPrefix(got, want) || want == "" {
		d.t.Errorf("%s: want %q, got %q", reason, want, got)
	}
}

// checkWoken compares the components that were woken since the last call.
func (d *desk) checkWoken(reason, want string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Join(d.woken, " "); got != want {
		d.t.Errorf("%s: want %q to be woken, got %q", reason, want, got)
	}
	d.woken = nil
}

func TestFastGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		g := &sleeper{takes: 999 * time.Millisecond}
		d.check("the pass waits", "a", d.pass(g, "one", "a"))
		d.check("each pass calls it", "a", d.pass(g, "one", "a"))
		pure := &sleeper{pure: true}
		d.check("a pure one", "a", d.pass(pure, "two", "a"))
		d.check("is called once", "a", d.pass(pure, "two", "a"))
		d.check("for the same inputs", "b", d.pass(pure, "two", "b"))
		synctest.Wait()
		if g.calls != 2 || pure.calls != 2 || len(d.took) != 4 || d.took[0] != g.takes {
			t.Errorf("want 2 calls each, and their durations, got %d, %d and %v", g.calls, pure.calls, d.took)
		}
		d.checkWoken("nothing is left to report", "")
	})
}

func TestSlowGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		g := &sleeper{takes: 5 * time.Second}
		called := time.Now().UTC().Format(time.RFC3339)
		d.check("the first pass", "unfinished: the generator was called at "+called+", and has not returned yet", d.pass(g, "one", "a"))
		d.checkWoken("while it runs", "")
		time.Sleep(2 * time.Second)
		d.check("a pass that has other reasons", "unfinished: the generator was called at "+called, d.pass(g, "one", "a"))
		time.Sleep(time.Second)
		synctest.Wait()
		d.checkWoken("when it has returned", "one")
		d.check("the pass after it", "a", d.pass(g, "one", "a"))
		if calls, _ := g.count(); calls != 1 || len(d.took) != 1 || d.took[0] != g.takes {
			t.Errorf("want one call, and its duration, got %d, %v", calls, d.took)
		}

		d.check("another call", "unfinished: ", d.pass(g, "one", "a"))
		time.Sleep(5*time.Second + freshness)
		d.check("nobody has asked for its answer for long", "unfinished: ", d.pass(g, "one", "a"))
		if calls, _ := g.count(); calls != 3 {
			t.Errorf("want a third call, got %d", calls)
		}
		d.calls.Cancel(apitypes.NamespacedName{Name: "one"})
		synctest.Wait()
		d.woken = nil
		time.Sleep(time.Minute)
		d.checkWoken("after it is not needed any more", "")
	})
}

func TestTimeoutOfGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		listening, deaf := &sleeper{takes: time.Minute}, &sleeper{takes: 25 * time.Second, deaf: true}
		d.check("a generator that listens", "unfinished: ", d.pass(listening, "one", "a"))
		time.Sleep(9 * time.Second)
		d.check("is canceled", "error: the generator was canceled after 10s: context deadline exceeded", d.pass(listening, "one", "a"))
		d.check("and called again", "unfinished: the generator was called at", d.pass(listening, "one", "a"))
		d.calls.Cancel(apitypes.NamespacedName{Name: "one"})
		d.woken = nil

		called := time.Now().UTC().Format(time.RFC3339)
		d.check("a generator that does not listen", "unfinished: ", d.pass(deaf, "two", "a"))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		d.checkWoken("when it is canceled", "two")
		want := "unfinished: the generator was called at " + called + " and canceled after 10s, but has not returned; it is not called again before it has"
		d.check("is said to be so", want, d.pass(deaf, "two", "a"))
		d.check("and occupies no place", "b", d.pass(&sleeper{}, "three", "b"))
		d.check("with other inputs", "unfinished: the generator was called at "+called+" for an earlier state of the component and canceled, but has not returned", d.pass(deaf, "two", "c"))
		time.Sleep(14 * time.Second)
		synctest.Wait()
		d.checkWoken("when it has returned at last", "two")
		d.check("its answer is of no use", "unfinished: ", d.pass(deaf, "two", "c"))
		if calls, most := deaf.count(); calls != 2 || most != 1 {
			t.Errorf("want one call after the other, got %d, and %d side by side", calls, most)
		}
		time.Sleep(30 * time.Second)
		d.check("an answer that comes late is still one", "c", d.pass(deaf, "two", "c"))
	})
}

func TestChangesDuringACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		g := &sleeper{takes: 3 * time.Second}
		d.check("a call", "unfinished: ", d.pass(g, "one", "a"))
		d.check("which is canceled for other inputs, and the next one begins at once", "unfinished: ", d.pass(g, "one", "b"))
		if calls, most := g.count(); calls != 2 || most != 1 {
			t.Errorf("want two calls, one after the other, got %d and %d", calls, most)
		}
		time.Sleep(3 * time.Second)
		d.check("its answer", "b", d.pass(g, "one", "b"))

		deaf := &sleeper{takes: 3 * time.Second, deaf: true}
		d.check("a call that cannot be canceled", "unfinished: ", d.pass(deaf, "two", "a"))
		d.calls.Cancel(apitypes.NamespacedName{Name: "two"})
		delete(d.memory, "two")
		d.check("of a component that is created again", "unfinished: the generator was called at", d.pass(deaf, "two", "a"))
		time.Sleep(5 * time.Second)
		if calls, most := deaf.count(); calls != 1 || most != 1 {
			t.Errorf("want the next call to wait, got %d, and %d side by side", calls, most)
		}
		d.check("is called again afterwards", "unfinished: ", d.pass(deaf, "two", "a"))
		time.Sleep(5 * time.Second)
	})
}

func TestGeneratorsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 2)
		g := &sleeper{takes: 5 * time.Second}
		for _, name := range []string{"one", "two"} {
			d.check(name, "unfinished: the generator was called at", d.pass(g, name, "a"))
		}
		d.check("three", "unfinished: waiting for its turn; at most 2 calls of the generator run at the same time", d.pass(g, "three", "a"))
		d.checkWoken("before one of them ends", "")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		d.checkWoken("its turn has come", "one three")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.checkWoken("all have ended", "two three")
		d.check("the answer of the third", "a", d.pass(g, "three", "a"))
		if _, most := g.count(); most != 2 {
			t.Errorf("want two calls side by side, got %d", most)
		}
		time.Sleep(freshness)
		d.woken = nil

		for _, name := range []string{"four", "five", "six"} {
			d.check(name, "unfinished: ", d.pass(g, name, "a"))
		}
		d.check("seven", "unfinished: waiting for its turn", d.urgentPass(g, "seven", "a", true))
		d.calls.Cancel(apitypes.NamespacedName{Name: "four"})
		synctest.Wait()
		d.checkWoken("the one that is urgent begins", "seven")
		d.calls.Cancel(apitypes.NamespacedName{Name: "six"})
		time.Sleep(time.Minute)
		d.checkWoken("the one that has given up does not begin", "five seven")
	})
}

func TestPanicsOfGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		g := &sleeper{mistake: "a mistake"}
		d.check("a panic", "error: the generator failed with a panic: a mistake (generation/calls_test.go:", d.pass(g, "one", "a"))
		g.takes = 5 * time.Second
		d.check("a slow one", "unfinished: ", d.pass(g, "one", "a"))
		time.Sleep(5 * time.Second)
		d.check("panics as well", "error: the generator failed with a panic: a mistake", d.pass(g, "one", "a"))
		synctest.Wait()
		if d.panics != 2 {
			t.Errorf("want both to be counted, got %d", d.panics)
		}
	})
}

func TestPassesThatEndDuringACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 1)
		g := &sleeper{takes: 5 * time.Second}
		cut := errors.New("cut off")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cut)
		defer cancel()
		request := Request{
			Component: apitypes.NamespacedName{Name: "one"}, Generator: g, Inputs: Inputs{Digest: "a"}, Timeout: time.Minute, Log: logr.Discard(),
			Prepare: func() (context.Context, types.Unstructurable) { return ctx, parameters{} },
		}
		if _, err := Generate(ctx, d.calls, &Memory{}, request); !errors.Is(err, cut) {
			t.Errorf("want why the pass has ended, got %v", err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.checkWoken("the call went on", "one")

		request.Component.Name = "two"
		request.Prepare = func() (context.Context, types.Unstructurable) { return context.Background(), nil }
		if _, err := Generate(t.Context(), d.calls, &Memory{}, request); err == nil || err.Error() != "the component has no spec" {
			t.Errorf("want a component without spec to be refused, got %v", err)
		}
		d.calls.Close()
		request.Prepare = func() (context.Context, types.Unstructurable) { return context.Background(), parameters{} }
		if _, err := Generate(t.Context(), d.calls, &Memory{}, request); !errors.Is(err, context.Canceled) {
			t.Errorf("want no call to begin when the operator ends, got %v", err)
		}
	})
}
