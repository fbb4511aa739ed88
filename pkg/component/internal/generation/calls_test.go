// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// exits is the mistake of ending the goroutine.
const exits = "exits"

// sleeper is a generator that takes its time. The name of its object is that of the inputs.
type sleeper struct {
	// takes is how long a call takes, if its context does not end it.
	takes time.Duration
	// deaf means that it ignores its context.
	deaf bool
	// mistake is what it panics with; empty for none.
	mistake string
	pure    bool

	mu sync.Mutex
	// calls and running are the numbers of calls, and of those that have not returned; most is the maximum of the
	// latter.
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
	switch g.mistake {
	case "":
	case exits:
		goruntime.Goexit()
	default:
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
	panics int
	slow   []string

	mu    sync.Mutex
	woken []string
	took  []time.Duration
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, memory: map[string]*Memory{}}
	d.calls = NewCalls(Options{
		Patience: time.Second,
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
		Panics: &Catcher{Count: func() { d.panics++ }},
	})
	return d
}

// pass generates for a component, and returns what came out: the name of the object, or the error.
func (d *desk) pass(g *sleeper, component, digest string) string {
	d.t.Helper()
	return d.passIn(d.t.Context(), g, component, digest)
}

func (d *desk) passIn(ctx context.Context, g *sleeper, component, digest string) string {
	d.t.Helper()
	if d.memory[component] == nil {
		d.memory[component] = &Memory{}
	}
	result, err := Generate(ctx, d.calls, d.memory[component], Request{
		Component: apitypes.NamespacedName{Name: component}, Generator: g, Inputs: Inputs{Digest: digest, Name: digest}, Timeout: 10 * time.Second,
		Reconciler: "demo.example.io", Scheme: runtime.NewScheme(),
		Prepare: func() (context.Context, types.Unstructurable) {
			if digest == "" {
				return ctx, nil
			}
			return ctx, parameters{}
		},
		Slow:          func(message string) { d.slow = append(d.slow, message) },
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
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Join(d.woken, " "); got != want {
		d.t.Errorf("%s: want %q to be woken, got %q", reason, want, got)
	}
	d.woken = nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func TestCallsAreAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		g := &sleeper{takes: 999 * time.Millisecond}
		d.check("a call", "a", d.pass(g, "one", "a"))
		d.check("each pass makes one", "a", d.pass(g, "one", "a"))
		pure := &sleeper{pure: true}
		d.check("a pure generator", "a", d.pass(pure, "two", "a"))
		d.check("is called once", "a", d.pass(pure, "two", "a"))
		d.check("for the same inputs", "b", d.pass(pure, "two", "b"))
		if len(d.slow) > 0 {
			t.Errorf("want nothing to be announced, got %q", d.slow)
		}
		g.takes = 5 * time.Second
		want := "the generator was called at " + now() + ", and has not returned yet"
		d.check("a slow one", "a", d.pass(g, "one", "a"))
		if len(d.slow) != 1 || d.slow[0] != want {
			t.Errorf("want %q to be announced once, got %q", want, d.slow)
		}
		if g.calls != 3 || pure.calls != 2 || len(d.took) != 5 || d.took[4] != g.takes {
			t.Errorf("want 3 and 2 calls, and their durations, got %d, %d and %v", g.calls, pure.calls, d.took)
		}
		d.check("a component without spec", "error: the component has no spec", d.pass(g, "three", ""))
		d.checkWoken("nothing is left to report", "")
	})
}

func TestTimeoutOfGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		listening, deaf := &sleeper{takes: time.Minute}, &sleeper{takes: 25 * time.Second, deaf: true}
		d.check("one that listens", "error: the generator was canceled after 10s: context deadline exceeded", d.pass(listening, "one", "a"))
		d.check("is called again", "error: the generator was canceled after 10s", d.pass(listening, "one", "a"))

		want := "unfinished: the generator was called at " + now() + " and canceled after 10s, but has not returned; it will not be called again until it does"
		d.check("one that does not listen", want, d.pass(deaf, "two", "a"))
		d.check("the next pass waits a moment", want, d.pass(deaf, "two", "a"))
		d.check("and does not call it for other inputs", want, d.pass(deaf, "two", "b"))
		d.checkWoken("while it runs", "")
		time.Sleep(12 * time.Second)
		d.checkWoken("when it has returned", "two")
		d.check("its answer is not used", "unfinished: ", d.pass(deaf, "two", "b"))
		if calls, most := deaf.count(); calls != 2 || most != 1 {
			t.Errorf("want one call after the other, got %d, and %d side by side", calls, most)
		}
		time.Sleep(14 * time.Second)
		fresh := &sleeper{}
		d.check("another generator", "b", d.pass(fresh, "two", "b"))
	})
}

// crowd is a generator that returns many objects.
type crowd int

func (g crowd) Generate(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
	return slices.Repeat([]client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, int(g)), nil
}

// TestTooManyObjects has a user who asks for a million replicas of an object.
func TestTooManyObjects(t *testing.T) {
	t.Parallel()
	const want = "the generator returns 1000000 objects; at most 100000 are allowed"
	_, _, err := Request{Generator: crowd(1_000_000)}.call(t.Context(), parameters{})
	if refused, ok := errors.AsType[*inventory.RefusedError](err); !ok || refused.Error() != want {
		t.Errorf("want the objects to be refused, got %v", err)
	}
	if objects, _, err := (Request{Generator: crowd(chunks.MaxItems)}).call(t.Context(), parameters{}); err != nil || len(objects) != chunks.MaxItems {
		t.Errorf("want %d objects to be accepted, got %d (%v)", chunks.MaxItems, len(objects), err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
