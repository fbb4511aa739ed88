// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
)

func newLive(s *screen) display.Printer {
	_, _ = s.Write([]byte("$ clm apply shop\r\n"))
	s.take()
	return display.NewPrinter(display.PrinterOptions{Out: s, Mode: display.ModeLive, Size: s.size, Color: display.ColorNever})
}

func TestLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80, 24)
		live := newLive(s)
		state := scene()
		live.Update(state)
		s.expect(t, "what is done and what is to come is a line; what has failed keeps its place", `
$ clm apply shop
apply default/shop revision 3: applying wave 2 of 4  0s
  waves -1 to 0  ✓ 3 done
  wave 1         ✓ 1 done  ▸ 1 in progress  ✗ 1 failed
    ▸ Deployment web  creating  12s  1/3 replicas available
    ✗ Job migrate     failed    26h  job has reached its backoff limit
  waves 2 to 3   · 2 pending
`)

		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.expect(t, "ages grow without an update", `
$ clm apply shop
apply default/shop revision 3: applying wave 2 of 4  2s
  waves -1 to 0  ✓ 3 done
  wave 1         ✓ 1 done  ▸ 1 in progress  ✗ 1 failed
    ▸ Deployment web  creating  14s  1/3 replicas available
    ✗ Job migrate     failed    26h  job has reached its backoff limit
  waves 2 to 3   · 2 pending
`)

		state.Phase, state.Message = "applying wave 3 of 4", "retrying: connection refused"
		for i := 3; i < 6; i++ {
			state.Objects[i].Phase, state.Objects[i].Message, state.Objects[i].State = inventory.PhaseReady, "", ""
			settle(&state.Objects[i])
		}
		state.Objects[6].Phase, state.Objects[6].Verb = inventory.PhaseCreating, inventory.VerbCreated
		settle(&state.Objects[6])
		time.Sleep(time.Second)
		live.Update(state)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		s.expect(t, "a shorter view leaves nothing of the longer one", `
$ clm apply shop
apply default/shop revision 3: applying wave 3 of 4  3s
  retrying: connection refused
  waves -1 to 1  ✓ 6 done
  wave 2         ▸ 1 in progress
    ▸ Widget front  creating
  wave 3         · 1 pending
`)

		_, _ = s.Write([]byte("^C"))
		live.Finish(display.Outcome{Done: true, Summary: "release default/shop is ready", Next: "See it with: clm status shop"})
		time.Sleep(5 * time.Second)
		live.Update(state)
		live.Finish(display.Outcome{Summary: "again"})
		synctest.Wait()
		s.expect(t, "the view gives way to the summary, also where the terminal itself has written, and does not come back", `
$ clm apply shop
✓ release default/shop is ready (4 created, 2 updated, 1 unchanged, 1 pending,
  3s)
See it with: clm status shop
`)
	})
}

func TestLiveFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(80, 24)
		live := newLive(s)
		live.Update(scene())
		time.Sleep(90 * time.Second)
		live.Finish(display.Outcome{Summary: "release default/shop is not ready", Next: "Apply again to continue."})
		s.expect(t, "the outcome names what is not ready", `
$ clm apply shop
  ✗ Job migrate: failed for 26h: job has reached its backoff limit
  ▸ Deployment web: creating for 102s: 1/3 replicas available
✗ release default/shop is not ready (3 created, 2 updated, 1 unchanged, 2
  pending, 90s)
Apply again to continue.
`)
	})
}

func TestLiveSizes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		columns, rows int
		pods          int
		want          string
	}{
		"Narrow": {
			reason: "lines are cut, never broken", columns: 20, rows: 24,
			want: `
$ clm apply shop
apply default/shop…
  waves -1 to 0  ✓…
  wave 1         ✓…
    ▸ Deplo… web  …
        1/3
        replicas
        available
    ✗ Job m…rate  …
        job has
        reached its
        backoff li…
  waves 2 to 3   ·…
`,
		},
		"Low": {
			reason: "what has failed is shown first, the others are counted", columns: 80, rows: 8, pods: 3,
			want: `
apply default/shop revision 3: applying wave 2 of 4  0s
  waves -1 to 0  ✓ 3 done
  wave 1         ✓ 1 done  ▸ 4 in progress  ✗ 1 failed
    ▸ Pod p2       creating
    ✗ Job migrate  failed    26h  job has reached its backoff limit
  waves 2 to 3   · 2 pending
    … and 3 more
`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScreen(tc.columns, tc.rows)
				live := newLive(s)
				state := scene()
				for i := range tc.pods {
					pod := object(fmt.Sprintf("v1 Pod default/p%d", i), 1, inventory.PhaseCreating)
					state.Objects = slices.Insert(state.Objects, 3, pod)
				}
				live.Update(state)
				synctest.Wait()
				s.expect(t, tc.reason, tc.want)
				live.Finish(display.Outcome{Done: true, Summary: "ok"})
			})
		})
	}
}

// A view is drawn at most ten times a second, in one write each, and only what has changed is sent.
func TestLiveIsCheap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rows = 30
		s := newScreen(100, rows)
		live := newLive(s)
		state := scene()
		state.Objects = nil
		for i := range 1000 {
			state.Objects = append(state.Objects, object(fmt.Sprintf("v1 Pod default/p%03d", i), 0, inventory.PhaseCreating, wait("pending", 0)))
		}
		live.Update(state)
		text, writes := s.take()
		if lines := strings.Count(text, "\n"); writes != 1 || lines != rows-1 {
			t.Errorf("1000 objects took %d writes and %d lines, wanted 1 and %d", writes, lines, rows-1)
		}
		for range 100 {
			time.Sleep(time.Millisecond)
			live.Update(state)
		}
		synctest.Wait()
		if text, writes := s.take(); writes != 0 {
			t.Errorf("updates without news sent %q", text)
		}

		for i := range 500 { // half a second
			time.Sleep(time.Millisecond)
			state.Objects[3].Message = fmt.Sprintf("news %d", i)
			live.Update(state)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		text, writes = s.take()
		if writes < 5 || writes > 6 {
			t.Errorf("500 updates within half a second took %d writes, wanted 5 or 6", writes)
		}
		if lines := strings.Count(text, "\x1b[K"); lines != writes {
			t.Errorf("one line has changed, but %d writes have sent %d lines", writes, lines)
		}
		if !strings.Contains(s.text(), "news 499") {
			t.Errorf("the last update is not on the screen:\n%s", s.text())
		}
		live.Finish(display.Outcome{Done: true, Summary: "ok"})
	})
}

// The race detector watches; and whatever the order, the terminal ends with the outcome alone.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	for _, mode := range []display.Mode{display.ModeLive, display.ModePlain, display.ModeJSON} {
		s := newScreen(100, 40)
		printer := display.NewPrinter(display.PrinterOptions{Out: s, Mode: mode, Size: s.size, Color: display.ColorAlways})
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				for i := range 50 {
					state := scene()
					state.Phase = fmt.Sprintf("step %d", i)
					state.Objects[3].Message = fmt.Sprintf("%d/%d", i, worker)
					printer.Update(state)
					state.Objects[3].Message = "changed after the update"
				}
				printer.Finish(display.Outcome{Done: true, Summary: "ended"})
			})
		}
		group.Wait()
		text, _ := s.take()
		if n := strings.Count(text, "ended"); n != 1 {
			t.Errorf("mode %d: the outcome is told %d times", mode, n)
		}
		if strings.Contains(text, "changed after") {
			t.Errorf("mode %d: the printer has kept what belongs to the caller", mode)
		}
	}
}

// TestFrames draws a release with long names and reasons at the widths that terminals have. No line may be wider, and
// all of them must be of use.
func TestFramesOfOperations(t *testing.T) {
	t.Parallel()
	crash := "0/3 replicas available; Pod monitoring-kube-prometheus-stack-operator-859fddb4f6-6n9pm: container kube-prometheus-stack: CrashLoopBackOff, restarted 3 times; " +
		"exited with code 1; last log line of container kube-prometheus-stack: level=error msg=\"cannot read /etc/config/prometheus.yaml: permission denied\""
	unbound := "not bound yet (phase Pending); ProvisioningFailed: storageclass.storage.k8s.io \"premium-rwo-retained\" not found"
	state := display.Progress{
		Operation: "apply", Release: "monitoring/kube-prometheus-stack", Revision: 12, Phase: "waiting until wave 1 is ready",
		Objects: []display.Dependent{
			object("apiextensions.k8s.io/v1 CustomResourceDefinition /prometheusrules.monitoring.coreos.com", -1, inventory.PhaseReady),
			object("apps/v1 Deployment monitoring/monitoring-kube-prometheus-stack-operator", 1, inventory.PhaseCreating, did(inventory.VerbCreated), wait(crash, -47*time.Second)),
			object("v1 PersistentVolumeClaim monitoring/prometheus-monitoring-kube-prometheus-stack-prometheus-db", 1, inventory.PhaseCreating,
				did(inventory.VerbCreated), wait(unbound, -47*time.Second)),
			object("monitoring.coreos.com/v1 Prometheus monitoring/monitoring-kube-prometheus-stack-prometheus", 1, inventory.PhaseCreating,
				did(inventory.VerbCreated), wait("no status yet", -3*time.Second)),
			object("v1 Service kube-system/monitoring-kube-prometheus-stack-coredns", 1, inventory.PhaseCreating, did(inventory.VerbCreated), wait("has no endpoints", -47*time.Second)),
			object("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration /monitoring-kube-prometheus-stack-admission", 2, inventory.PhaseScheduledForApplication),
		},
	}
	for _, width := range []int{60, 120} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScreen(width, 24)
				live := newLive(s)
				live.Update(state)
				golden(t, fmt.Sprintf("frame-%d.txt", width), s.text())
				writing := state
				writing.Writing = true
				live.Update(writing)
				time.Sleep(time.Second)
				if text := s.text(); !strings.Contains(text, "revision 12: applying  ") {
					t.Errorf("want no word of an earlier wait while the next wave is written:\n%s", text)
				}
				live.Finish(display.Outcome{Done: true})
			})
		})
	}
}
