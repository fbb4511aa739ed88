// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// errDead is what a dead process gets.
var errDead = errors.New("the process is dead")

// mortal is a process that dies after a number of writes. It does not learn the answer to the last one.
type mortal struct {
	left atomic.Int64
	dead context.Context
	die  context.CancelFunc
}

func newMortal(t testing.TB, survived int) *mortal {
	t.Helper()
	m := &mortal{}
	m.left.Store(int64(survived))
	m.dead, m.die = context.WithCancel(t.Context())
	return m
}

func (m *mortal) config(config *rest.Config) *rest.Config {
	config = testenv.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if m.dead.Err() != nil {
			return nil, errDead
		}
		isWrite := request.Method != http.MethodGet && !request.URL.Query().Has("dryRun")
		last := isWrite && m.left.Add(-1) < 0
		response, err := next.RoundTrip(request)
		if last {
			m.die()
			if err == nil {
				_ = response.Body.Close()
			}
			return nil, errDead
		}
		return response, err
	})
	return config
}

// jobs collects the names of Jobs that appear, in their order.
func (w *world) jobs() func() []string {
	w.Helper()
	watching, err := client.NewWithWatch(w.config, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	watch, err := watching.Watch(w.Context(), &batchv1.JobList{}, client.InNamespace(w.namespace))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watch.Stop)
	var mu stdsync.Mutex
	var names []string
	go func() {
		for event := range watch.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok && event.Type == "ADDED" {
				mu.Lock()
				names = append(names, job.Name)
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

// life is a sync operation in several processes, of which each goes on where the one before died.
type life struct {
	*world

	revision, manifests string
	startedAt           metav1.Time
	options             []sync.SyncOpt
	// stored is the inventory; nil if only the state is kept.
	stored *record

	phase   sync.OperationPhase
	message string
	results []sync.ResourceSyncResult
}

// process makes steps until the operation has completed, or the process is dead. What a step has brought is lost if the
// process dies during the step.
func (l *life) process(m *mortal) (completed bool) {
	l.Helper()
	options := append(slices.Clone(l.options), sync.WithInitialState(l.phase, l.message, l.results, l.startedAt), sync.WithPrune(true))
	if l.stored != nil {
		options = append(options, sync.WithStore(l.stored), sync.WithInventory(l.stored.inventory))
	}
	result := sync.Reconcile(l.targets(l.manifests), l.live(), l.namespace, sync.NewResourceInfoProvider(l.client.RESTMapper()))
	operation, done, err := sync.NewSyncContext(l.revision, result, m.config(l.config), l.namespace, options...)
	if err != nil {
		l.Fatal(err)
	}
	defer done()
	for m.dead.Err() == nil {
		operation.Sync(m.dead)
		if m.dead.Err() != nil {
			break
		}
		if l.phase, l.message, l.results = operation.GetState(); l.phase.Completed() {
			return true
		}
		if operation.Wait(m.dead) != nil {
			break
		}
	}
	return false
}

// immortal is more writes than any process makes.
const immortal = 1 << 40

// removingItself has Jobs deleted by Kubernetes some seconds after they have ended.
func removingItself(jobs string, seconds int) string {
	return strings.Replace(jobs, "spec:\n", fmt.Sprintf("spec:\n  ttlSecondsAfterFinished: %d\n", seconds), 1)
}

// TestRemovalBetweenTwoReads continues an operation while Kubernetes deletes a Job that has ended, and that another
// process has released. It does not run again.
func TestRemovalBetweenTwoReads(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{"Hook": job("short", hookAnnotation, "PreSync"), "Object": job("short")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			jobs := w.jobs()
			l := &life{world: w, revision: "one", manifests: removingItself(manifest, 100) + configMap("later", waveAnnotation, "1"), startedAt: startedAt()}
			operation := w.begin(l.revision, l.manifests, sync.WithInitialState("", "", nil, l.startedAt))
			w.until(operation, func(sync.OperationPhase, string, []string) bool {
				l.phase, l.message, l.results = operation.GetState()
				return len(l.results) > 0 && l.results[0].HookPhase == sync.OperationSucceeded
			})
			w.succeeds(operation)
			var once stdsync.Once
			config := testenv.Intercept(w.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/jobs/short") {
					once.Do(func() {
						ended := w.live()[sync.NewResourceKey("batch", "Job", w.namespace, "short")]
						if err := w.client.Delete(t.Context(), ended); err != nil {
							t.Error(err)
						}
						w.gone("short")
					})
				}
				return response, err
			})
			w.succeeds(w.beginWith(config, l.revision, l.manifests, sync.WithInitialState(l.phase, l.message, l.results, l.startedAt)))
			w.expect([]string{"short"}, jobs())
		})
	}
}

// TestRemovalAfterAFailure waits for a hook beside one that has failed, and that Kubernetes deletes as soon as it may.
// The latter does not run again.
func TestRemovalAfterAFailure(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]sync.SyncOpt{"WithoutInventory": nil, "WithInventory": {sync.WithStore(&record{})}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			jobs := w.jobs()
			operation := w.begin("one", removingItself(failingJobs(job("short", hookAnnotation, "PreSync")), 0)+unending(job("long", hookAnnotation, "PreSync")), options...)
			w.until(operation, func(_ sync.OperationPhase, _ string, results []string) bool {
				return slices.ContainsFunc(results, func(result string) bool { return strings.Contains(result, "Job short: Synced Failed: ") })
			})
			// Long enough for Kubernetes to delete it, and for the event to arrive.
			for range 50 {
				operation.Sync(t.Context())
				time.Sleep(20 * time.Millisecond)
			}
			operation.Terminate(t.Context())
			w.gone("long")
			w.gone("short")
			got := jobs()
			slices.Sort(got)
			w.expect([]string{"long", "short"}, got)
		})
	}
}

// application returns manifests with hooks and waves; its main Job may fail.
func application(fails bool) string {
	main := job("main", optionsAnnotation, "Force=true")
	if fails {
		main = failingJobs(main)
	}
	short := removingItself(job("short", hookAnnotation, "PreSync"), 0)
	generated := strings.Replace(job("NAME", hookAnnotation, "PreSync,PostSync", policyAnnotation, "HookSucceeded"), "name: NAME", "generateName: gen-", 1)
	return configMap("early", waveAnnotation, "-5") + main + configMap("late", waveAnnotation, "7") +
		job("migrate", hookAnnotation, "PreSync", policyAnnotation, "HookSucceeded", waveAnnotation, "-1") + short + generated +
		job("report", hookAnnotation, "PostSync", policyAnnotation, "HookSucceeded", waveAnnotation, "1") + job("alert", hookAnnotation, "SyncFail")
}

// TestDeath kills the process at each write of an operation, and of one that fails, and has another process go on,
// with the state alone or with an inventory. No hook runs twice, and none is left out.
func TestDeath(t *testing.T) {
	t.Parallel()
	testenv.Config(t) // skips the test if there is no cluster, which goroutines cannot
	generated := regexp.MustCompile(`gen-[0-9a-f]{10}$`)
	var next, deaths atomic.Int64
	var group stdsync.WaitGroup
	for range 16 {
		group.Go(func() {
			for killed := true; killed && !t.Failed(); {
				k := int(next.Add(1))
				w := newWorld(t)
				jobs, before := w.jobs(), 0
				var stored *record
				if k%2 == 0 {
					stored = &record{}
				}
				killed = false
				for _, phase := range []struct {
					fails bool
					want  []string
				}{
					{false, []string{"migrate", "gen", "short", "main", "gen", "report"}},
					{true, []string{"migrate", "gen", "short", "main", "alert"}},
				} {
					l := &life{world: w, revision: fmt.Sprint(phase.fails), manifests: application(phase.fails), startedAt: startedAt(), stored: stored}
					if !l.process(newMortal(t, k-1)) {
						killed = true
						deaths.Add(1)
						l.process(newMortal(t, immortal))
					}
					if want := map[bool]sync.OperationPhase{false: sync.OperationSucceeded, true: sync.OperationFailed}[phase.fails]; l.phase != want {
						t.Errorf("killed at write %d: %s: %s\n%s", k, l.phase, l.message, strings.Join(textsOf(l.results), "\n"))
						return
					}
					testenv.Eventually(t, func() (bool, string) {
						var ran []string
						for _, name := range jobs()[before:] {
							ran = append(ran, generated.ReplaceAllString(name, "gen"))
						}
						if len(ran) > 3 {
							// These are in the same wave.
							slices.Sort(ran[1:3])
						}
						diff := cmp.Diff(phase.want, ran)
						return diff == "", fmt.Sprintf("killed at write %d, with an inventory: %t: hooks ran (-want +got):\n%s", k, stored != nil, diff)
					})
					before = len(jobs())
				}
			}
		})
	}
	group.Wait()
	t.Logf("killed at %d writes", deaths.Load())
	if deaths.Load() < 30 {
		t.Errorf("killed at %d writes only", deaths.Load())
	}
}
