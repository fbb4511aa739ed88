// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// gone waits until a Job of the application is gone.
func (w *world) gone(name string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		return w.live()[sync.NewResourceKey("batch", "Job", w.namespace, name)] == nil, "Job " + name + " is still there"
	})
}

func runs(hook string) func(sync.OperationPhase, string, []string) bool {
	return func(_ sync.OperationPhase, _ string, results []string) bool {
		return slices.ContainsFunc(results, func(result string) bool { return strings.Contains(result, hook+": Synced Running: ") })
	}
}

// TestTerminate deletes hooks that are running, and leaves everything else as it is.
func TestTerminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := configMap("early", waveAnnotation, "-1") + configMap("later", waveAnnotation, "1") + job("migrate", hookAnnotation, "PreSync") + unending(job("work", hookAnnotation, "Sync")) +
		job("alert", hookAnnotation, "SyncFail")
	operation := w.begin("one", manifests)
	w.until(operation, runs("Job work"))
	operation.Terminate(t.Context())
	phase, message, results := operation.GetState()
	if phase != sync.OperationFailed || message != "the operation was terminated" {
		t.Errorf("%s: %s", phase, message)
	}
	w.expect([]string{
		"PreSync hook Job migrate: Synced Succeeded: created", "Sync ConfigMap early: Synced Succeeded: created", "Sync hook Job work: Synced Failed: terminated",
	}, textsOf(results))
	w.gone("work")
	operation.Sync(t.Context())
	operation.Terminate(t.Context())
	w.expect([]string{"ConfigMap early", "Job migrate"}, w.exists())
}

// TestTerminationOfOthers terminates an operation that another process has begun.
func TestTerminationOfOthers(t *testing.T) {
	t.Parallel()
	for name, loses := range map[string]bool{"WithResults": false, "BeforeTheLastResult": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifests := configMap("early", waveAnnotation, "-1") + unending(job("work", hookAnnotation, "Sync"))
			start := startedAt()
			l := &life{world: w, revision: "one", manifests: manifests, startedAt: start}
			begun := w.begin("one", manifests, sync.WithInitialState("", "", nil, start))
			w.until(begun, func(phase sync.OperationPhase, message string, results []string) bool {
				if !runs("Job work")(phase, message, results) || !loses {
					l.phase, l.message, l.results = begun.GetState()
				}
				return runs("Job work")(phase, message, results)
			})
			if loses {
				l.results = slices.DeleteFunc(l.results, func(result sync.ResourceSyncResult) bool { return result.ResourceKey.Name == "work" })
				l.results = append(l.results, sync.ResourceSyncResult{
					ResourceKey: sync.NewResourceKey("", "ConfigMap", w.namespace, "early"), Version: "v1", Order: 1, Status: sync.ResultCodeSynced, HookPhase: sync.OperationSucceeded,
					SyncPhase: sync.SyncPhaseSync, Message: "created",
				})
			}
			operation := w.begin("one", manifests, sync.WithInitialState(sync.OperationTerminating, l.message, l.results, start))
			operation.Sync(t.Context())
			if phase, message, results := operation.GetState(); phase != sync.OperationFailed || textsOf(results)[len(results)-1] != "Sync hook Job work: Synced Failed: terminated" {
				t.Errorf("%s: %s\n%s", phase, message, strings.Join(textsOf(results), "\n"))
			}
			w.gone("work")
		})
	}
}

// TestTerminationOfHooksThatHaveEnded keeps their outcomes.
func TestTerminationOfHooksThatHaveEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := job("good", hookAnnotation, "Sync") + failingJobs(job("bad", hookAnnotation, "Sync")) + unending(job("work", hookAnnotation, "Sync"))
	operation := w.begin("one", manifests)
	operation.Sync(t.Context())
	testenv.Eventually(t, func() (bool, string) {
		ended := 0
		for _, name := range []string{"good", "bad"} {
			if job := w.live()[sync.NewResourceKey("batch", "Job", w.namespace, name)]; job != nil && len(conditions(job.Object)) > 0 {
				ended++
			}
		}
		return ended == 2, "not all Jobs have ended"
	})
	operation.Terminate(t.Context())
	_, _, results := operation.GetState()
	texts := textsOf(results)
	slices.Sort(texts)
	if len(texts) != 3 || !strings.HasPrefix(texts[0], "Sync hook Job bad: Synced Failed: failed") || !strings.HasPrefix(texts[1], "Sync hook Job good: Synced Succeeded: ") ||
		texts[2] != "Sync hook Job work: Synced Failed: terminated" {
		t.Errorf("got %q", texts)
	}
	w.gone("work")
	w.expect([]string{"Job bad", "Job good"}, w.exists())
}

func conditions(job map[string]any) []any {
	status, _ := job["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	return list
}

// TestTerminationDuringAStep ends the step.
func TestTerminationDuringAStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began, ended := make(chan struct{}), make(chan struct{})
	var operation sync.SyncContext
	operation = w.begin("one", configMap("a")+configMap("b", waveAnnotation, "1"), sync.WithSyncWaveHook(func(_ sync.SyncPhase, wave int, _ bool) error {
		if wave != 0 {
			return nil
		}
		close(began)
		for begun := time.Now(); !sync.Terminating(operation); time.Sleep(time.Millisecond) {
			if time.Since(begun) > testenv.Patience() {
				return errors.New("nobody has terminated the operation")
			}
		}
		return nil
	}))
	go func() {
		defer close(ended)
		operation.Sync(t.Context())
	}()
	testenv.Receive(t, began, "the first wave")
	operation.Terminate(t.Context())
	testenv.Receive(t, ended, "the end of the step")
	if phase, message, _ := operation.GetState(); phase != sync.OperationFailed {
		t.Errorf("%s: %s", phase, message)
	}
	w.expect([]string{"ConfigMap a"}, w.exists())
}

// TestTerminationThatFails is an error.
func TestTerminationThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := newMortal(t, immortal)
	operation := w.beginWith(m.config(w.config), "one", unending(job("work", hookAnnotation, "Sync")))
	w.until(operation, runs("Job work"))
	m.die()
	operation.Terminate(t.Context())
	if phase, message, _ := operation.GetState(); phase != sync.OperationError || !strings.Contains(message, "the process is dead") {
		t.Errorf("%s: %s", phase, message)
	}
}
