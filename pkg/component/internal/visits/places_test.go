// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package visits

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// visitors play visits of components, each to a target of the same name.
type visitors struct {
	places *Places
	visits map[string]*Visit
	cut    map[string]error
	now    time.Time
	called []string
}

func newVisitors(workers int) *visitors {
	c := &visitors{places: New(workers, Slowness{visit: time.Hour, rest: time.Hour}), visits: map[string]*Visit{}, cut: map[string]error{}}
	c.places.now = func() time.Time { return c.now }
	c.places.Call = func(component apitypes.NamespacedName) { c.called = append(c.called, component.Name) }
	return c
}

// play returns what becomes of a step: a name and what it does.
func (c *visitors) play(name, step string) string {
	switch step {
	case "enters":
		entered, ok := c.places.Enter(name, apitypes.NamespacedName{Name: name}, func(reason error) { c.cut[name] = reason })
		c.visits[name] = entered
		if !ok {
			return "waits"
		}
	case "slows":
		c.visits[name].Slowed()
	case "lasts":
		c.visits[name].lasting()
	case "leaves":
		c.called = nil
		c.visits[name].Leave()
		return strings.Join(c.called, " ")
	case "passes":
		duration, _ := time.ParseDuration(name) // the test's own
		c.now = c.now.Add(duration)
	}
	if reason := c.cut[name]; errors.Is(reason, ErrCrowded) {
		delete(c.cut, name)
		return "is cut"
	}
	return ""
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	quick := func(names ...string) [][3]string {
		var steps [][3]string
		for _, name := range names {
			steps = append(steps, [3]string{name, "enters", ""}, [3]string{name, "leaves", ""})
		}
		return steps
	}
	for _, test := range []struct {
		reason  string
		workers int
		steps   [][3]string
	}{
		{"half of the workers visit targets that are not known", 5, [][3]string{{"a", "enters", ""}, {"b", "enters", ""}, {"c", "enters", "waits"}, {"a", "leaves", "c"}, {"c", "enters", ""}}},
		{"one place is the least", 1, [][3]string{{"a", "enters", ""}, {"b", "enters", "waits"}, {"a", "leaves", "b"}, {"b", "enters", ""}}},
		{
			"who comes first is served first", 2,
			[][3]string{
				{"a", "enters", ""},
				{"a", "slows", ""},
				{"b", "enters", "waits"},
				{"c", "enters", "waits"},
				{"b", "enters", "waits"},
				{"a", "leaves", "b"},
				{"c", "enters", "waits"},
				{"a", "enters", "waits"},
				{"b", "enters", ""},
				{"b", "slows", ""},
				{"b", "leaves", "c"},
				{"b", "enters", "waits"},
				{"a", "enters", "waits"},
				{"c", "enters", ""},
				{"c", "slows", ""},
				{"c", "leaves", "a"},
			},
		},
		{
			"as many are called as there are places", 6,
			[][3]string{
				{"a", "enters", ""},
				{"b", "enters", ""},
				{"c", "enters", ""},
				{"d", "enters", "waits"},
				{"e", "enters", "waits"},
				{"a", "leaves", "d"},
				{"b", "leaves", "d e"},
				{"e", "enters", ""},
				{"d", "enters", ""},
				{"c", "leaves", ""},
			},
		},
		{
			"a place is not kept for who does not ask any more", 2,
			[][3]string{
				{"a", "enters", ""},
				{"b", "enters", "waits"},
				{"9s", "passes", ""},
				{"c", "enters", "waits"},
				{"a", "leaves", "b"},
				{"7s", "passes", ""},
				{"c", "enters", ""},
			},
		},
		{
			"who needs no place does not wait for one", 2,
			[][3]string{{"a", "enters", ""}, {"b", "enters", "waits"}, {"a", "leaves", "b"}, {"a", "enters", ""}, {"a", "leaves", ""}, {"b", "enters", ""}},
		},
		{"quick targets need no place", 2, append(quick("a", "b", "c"), [][3]string{{"a", "enters", ""}, {"b", "enters", ""}, {"c", "enters", ""}}...)},
		{"a target that gets slow takes a place", 2, append(quick("a"), [][3]string{{"a", "enters", ""}, {"a", "slows", ""}, {"b", "enters", "waits"}}...)},
		{"a target that gets slow when none is left is cut", 2, append(quick("a"), [][3]string{{"b", "enters", ""}, {"a", "enters", ""}, {"a", "slows", "is cut"}}...)},
		{"a visit that lasts takes a place", 2, append(quick("a"), [][3]string{{"a", "enters", ""}, {"a", "lasts", ""}, {"b", "enters", "waits"}}...)},
		{"a visit that lasts when none is left is cut", 2, append(quick("a"), [][3]string{{"b", "enters", ""}, {"a", "enters", ""}, {"a", "lasts", "is cut"}}...)},
		{
			"what was slow is expected to be slow", 2,
			append(quick("a"), [][3]string{{"a", "enters", ""}, {"a", "slows", ""}, {"a", "leaves", ""}, {"b", "enters", ""}, {"a", "enters", "waits"}}...),
		},
		{
			"what was cut is expected to be slow", 2,
			append(quick("a"), [][3]string{{"b", "enters", ""}, {"a", "enters", ""}, {"a", "slows", "is cut"}, {"a", "leaves", ""}, {"a", "enters", "waits"}}...),
		},
		{
			"slow twice is slow once, and so is leaving", 2,
			[][3]string{{"a", "enters", ""}, {"a", "slows", ""}, {"a", "slows", ""}, {"a", "leaves", ""}, {"a", "leaves", ""}, {"a", "slows", ""}, {"b", "enters", ""}, {"c", "enters", "waits"}},
		},
	} {
		c := newVisitors(test.workers)
		for i, step := range test.steps {
			if got := c.play(step[0], step[1]); got != step[2] {
				t.Errorf("%s: step %d: %s %s: %q, want %q", test.reason, i, step[0], step[1], got, step[2])
			}
		}
	}
}

func TestPlacesForgetTargets(t *testing.T) {
	t.Parallel()
	c := newVisitors(2)
	for i := range 1000 {
		name := fmt.Sprint(i)
		c.play(name, "enters")
		c.play(name, "leaves")
		c.places.Forget(name)
	}
	expect(t, "remembered", 0, len(c.places.quick))
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestInterrupt has a visit do other work for a long time. That does not count.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := New(2, Slowness{})
		var cuts atomic.Int32
		cut := func(error) { cuts.Add(1) }
		enter := func(name string) *Visit {
			v, _ := places.Enter(name, apitypes.NamespacedName{Name: name}, cut)
			return v
		}
		enter("one").Leave()
		enter("two").Leave()
		occupant := enter("three")
		v := enter("one")
		time.Sleep(29 * time.Second)
		resume := v.Interrupt()
		time.Sleep(time.Hour)
		resume()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if cuts.Load() > 0 {
			t.Errorf("want other work not to count, got %d cuts", cuts.Load())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if cuts.Load() != 1 {
			t.Errorf("want a visit that lasts to need a place, got %d cuts", cuts.Load())
		}
		v.Leave()
		other := enter("two")
		resume = other.Interrupt()
		other.Leave()
		resume()
		time.Sleep(time.Minute)
		synctest.Wait()
		if cuts.Load() != 1 {
			t.Errorf("want no visit to be cut after its end, got %d cuts", cuts.Load())
		}
		occupant.Leave()
	})
}
