// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// failing makes Jobs fail.
func failing(jobs string) string {
	return strings.ReplaceAll(jobs, "template: {spec:", `template: {metadata: {annotations: {`+sandbox.AnnotationFail+`: "true"}}, spec:`)
}

// TestDeathWithApplyHooks ends the process after each number of writes of each phase: no hook is forgotten, and none
// runs twice.
func TestDeathWithApplyHooks(t *testing.T) {
	t.Parallel()
	writes := 0
	for _, count := range newHookedLife(t).lead(math.MaxInt) {
		writes = max(writes, count)
	}
	forEachWrite(t, writes, func(t *testing.T, survived int) { newHookedLife(t).lead(survived) })
}

// forEachWrite runs a test for each number of writes that a process survives. Such tests mostly wait for Jobs, so there
// may be more of them at a time than there are processors.
func forEachWrite(t *testing.T, writes int, test func(t *testing.T, survived int)) {
	t.Helper()
	var lives errgroup.Group
	lives.SetLimit(8)
	for survived := range writes {
		lives.Go(func() error {
			t.Run(strconv.Itoa(survived), func(t *testing.T) { test(t, survived) })
			return nil
		})
	}
	_ = lives.Wait()
}

// hookedLife is the life of a component with hooks: it becomes ready, fails, and is repaired.
type hookedLife struct {
	*rig
	widget *Widget
	phases []hookedPhase
}

type hookedPhase struct {
	objects string
	state   State
	// runs are the Jobs that run in this phase.
	runs []string
}

func newHookedLife(t *testing.T) *hookedLife {
	t.Helper()
	r := newRig(t)
	main := r.job("main", "update-policy", "recreate")
	hooks := r.job("smoke", "apply-hook", "post-apply") + r.job("notify", "apply-hook", "on-failure", "purge-order", "0") +
		// Kubernetes deletes it as soon as it has ended.
		strings.Replace(r.job("brief", "reconcile-policy", "on-object-or-component-change"), "spec: {", "spec: {ttlSecondsAfterFinished: 0, ", 1)
	return &hookedLife{rig: r, widget: r.widget(""), phases: []hookedPhase{
		{oneConfigMap + main + hooks, StateReady, []string{"brief", "main", "smoke"}},
		{oneConfigMap + failing(main) + hooks, StateError, []string{"brief", "main", "notify"}},
		{main + hooks, StateReady, []string{"brief", "main", "smoke"}},
	}}
}

// lead goes through all phases. In each, a process dies after so many writes, and another one finishes the phase. It
// returns how many writes the first process made.
func (l *hookedLife) lead(survived int) (writes []int) {
	runs := l.jobsThatAppear()
	l.create(l.widget)
	for i, phase := range l.phases {
		before := len(runs())
		change(l.rig, l.widget, func(w *Widget) { w.Spec.Objects = l.objects(phase.objects) })
		mortal := *l.rig
		config, left := testenv.Dying(l.config, survived)
		mortal.config = config
		stop := mortal.start(l.reconciler(ReconcilerOptions{}))
		testenv.Eventually(l.tb, func() (bool, string) {
			return l.isIn(phase) || left.Load() <= 0, "neither death nor the end"
		})
		stop()
		writes = append(writes, survived-int(left.Load()))
		stop = l.start(l.reconciler(ReconcilerOptions{}))
		testenv.Eventually(l.tb, func() (bool, string) {
			over := l.isIn(phase)
			_, _, message := l.widget.Status.GetState()
			return over, fmt.Sprintf("phase %d: %s", i, message)
		})
		stop()
		testenv.Eventually(l.tb, func() (bool, string) {
			got := runs()[before:]
			slices.Sort(got[:min(2, len(got))])
			return slices.Equal(got, phase.runs), fmt.Sprintf("phase %d: %v have run", i, got)
		})
	}
	stop := l.start(l.reconciler(ReconcilerOptions{}))
	l.delete(l.widget)
	l.awaitGone(l.widget)
	stop()
	return writes
}

// isIn reports whether the component has come to the end of a phase.
func (l *hookedLife) isIn(phase hookedPhase) bool {
	l.read(l.widget)
	status := l.widget.Status
	_, _, message := status.GetState()
	return status.ObservedGeneration == l.widget.Generation && status.State == phase.state && !strings.Contains(message, "on-failure hooks")
}
