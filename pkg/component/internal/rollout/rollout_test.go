// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func member(i int) Member {
	return Member{Key: apitypes.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}, Version: "1", Arrived: start}
}

// TestLateReplicas lets three replicas with old views of random age decide: together, they never exceed the limit.
func TestLateReplicas(t *testing.T) {
	t.Parallel()
	const count, limit = 40, 3
	random := rand.New(rand.NewPCG(1, 2))
	options := Options{Version: "2", MaxUpdating: new(intstr.FromInt32(limit))}
	var replicas [3]*Fleet
	var behind [3][]Member // events that a replica has not seen yet
	for i := range replicas {
		replicas[i] = New(options)
		for j := range count {
			replicas[i].Set(member(j))
		}
	}
	taken, arrived, updating, most := map[int]bool{}, 0, []int{}, 0
	send := func(m Member) {
		for i := range behind {
			behind[i] = append(behind[i], m)
		}
	}
	for arrived < count {
		which := random.IntN(len(replicas))
		switch random.IntN(12) {
		case 0: // a component becomes ready
			if len(updating) > 0 {
				m := member(updating[0])
				m.Version = "2"
				send(m)
				updating = updating[1:]
				arrived++
			}
		case 1, 2: // a replica sees the next event
			if len(behind[which]) > 0 {
				replicas[which].Set(behind[which][0])
				behind[which] = behind[which][1:]
			}
		default: // a replica decides about its components
			for i := which; i < count; i += len(replicas) {
				if replicas[which].Decide(member(i), start).Message == "" && !taken[i] {
					taken[i] = true
					updating = append(updating, i)
					m := member(i)
					m.Version, m.Arrived = "2", time.Time{}
					send(m)
				}
			}
		}
		if most = max(most, len(updating)); most > limit {
			t.Fatalf("%d components are updating", most)
		}
	}
	if most != limit {
		t.Errorf("at most %d components were updating; %d may", most, limit)
	}
}

// TestStages goes through canaries, the time in which they are observed, a failure and a recovery.
func TestStages(t *testing.T) {
	t.Parallel()
	f := New(Options{Version: "2", MaxUpdating: new(intstr.FromInt32(2)), Canary: labels.SelectorFromSet(labels.Set{"canary": "yes"}), BakeTime: time.Minute, StopOnFailure: true})
	canary := member(0)
	canary.Labels = labels.Set{"canary": "yes"}
	f.Set(canary)
	for i := 1; i < 5; i++ {
		f.Set(member(i))
	}
	check := func(m Member, now time.Time, want string, wakeAfter time.Duration) {
		t.Helper()
		if wait := f.Decide(m, now); !strings.HasPrefix(wait.Message, want) || (want == "") != (wait.Message == "") || wait.Wake != wakeAfter {
			t.Errorf("%s: want %q after %v, got %+v", m.Key, want, wakeAfter, wait)
		}
	}
	check(canary, start, "", 0)
	check(member(1), start, "waiting: 1 of the canaries are not ready yet", 0)

	canary.Version, canary.Arrived = "2", start.Add(time.Second)
	if next := f.Set(canary); len(next) != 2 {
		t.Errorf("the two next components have to be called, got %v", next)
	}
	check(member(1), start.Add(time.Second), "waiting: the canaries are observed until 2026-01-01T00:01:01Z", time.Minute)
	var first, last Member
	for i := 1; i < 5; i++ {
		if f.Decide(member(i), start.Add(time.Hour)).Message == "" {
			first = member(i)
		} else {
			last = member(i)
		}
	}
	check(last, start.Add(time.Hour), "waiting: at most 2 of 5 components take the version", 0)

	first.Version, first.Arrived, first.Failure = "2", time.Time{}, "no image"
	if next := f.Set(first); len(next) != 4 {
		t.Errorf("all components that have not arrived have to be told, got %v", next)
	}
	check(last, start.Add(time.Hour), "the rollout has stopped, because "+first.Key.String()+" failed with this version: no image; repair it, or deploy another version of the operator", 0)
	if next := f.Set(first); next != nil {
		t.Errorf("nothing has changed, got %v", next)
	}
	first.Failure, first.Arrived = "", start.Add(time.Hour)
	if next := f.Set(first); len(next) != 3 {
		t.Errorf("all others have to be called, got %v", next)
	}
	last.Version, last.Failure = "2", "no image"
	f.Set(last)
	if next := f.Remove(last.Key); len(next) != 2 {
		t.Errorf("the deletion of what has failed lets all others go on, got %v", next)
	}
	if next := f.Remove(member(9).Key); next != nil {
		t.Errorf("nothing is known of the component, got %v", next)
	}
}

// TestWindows waits for the next of two windows.
func TestWindows(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	options := Options{Version: "2", Count: func(state string, components int) { counts[state] = components }}
	for schedule, duration := range map[string]time.Duration{"CRON_TZ=Europe/Berlin 0 22 * * *": 4 * time.Hour, "0 12 1 1 *": time.Hour} {
		opens, err := cron.ParseStandard(schedule)
		if err != nil {
			t.Fatal(err)
		}
		options.Windows = append(options.Windows, Window{Opens: opens, Duration: duration})
	}
	f := New(options)
	f.Set(member(1))
	for at, want := range map[time.Duration]string{
		0:                             "",
		time.Hour:                     "waiting: the next window opens at 2026-01-01T12:00:00Z",
		12*time.Hour + 30*time.Minute: "",
		13*time.Hour + time.Second:    "waiting: the next window opens at 2026-01-01T21:00:00Z",
		21 * time.Hour:                "",
		24*time.Hour + 59*time.Minute: "",
		36*time.Hour + 30*time.Minute: "waiting: the next window opens at 2026-01-02T21:00:00Z",
	} {
		wait := f.Decide(member(1), start.Add(at))
		if wait.Message != want || (wait.Wake > 0) != (want != "") {
			t.Errorf("after %s: want %q, got %+v", at, want, wait)
		}
	}
	updating, arrived, failed := member(2), member(3), member(4)
	updating.Version, updating.Arrived = "2", time.Time{}
	arrived.Version = "2"
	failed.Version, failed.Failure = "2", "broken"
	for _, m := range []Member{updating, arrived, failed} {
		f.Set(m)
	}
	f.Remove(updating.Key)
	if got := fmt.Sprint(counts); got != "map[Arrived:1 Failed:1 Updating:0 Waiting:1]" {
		t.Errorf("got %s", got)
	}
}
