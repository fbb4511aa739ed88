// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Explainer finds out why objects are not ready while an operation waits for them. It makes no requests for objects
// that are waited for less than a second, and then watches what the reasons depend on. It makes none for
// CustomResourceDefinitions. It is safe for concurrent use.
type Explainer struct {
	options Options
	tell    func(reasons map[display.Key]string)
	woken   chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	awaited map[display.Key]awaited
}

// awaited is an object that is waited for.
type awaited struct {
	item  *reconciler.InventoryItem
	since time.Time
}

const (
	// explainAfter is how long an object is waited for before the reason is looked for: most are ready before.
	explainAfter = time.Second
	// explainPause is the least time between two looks. If a look takes more than half of it, twice that is the least
	// time.
	explainPause = time.Second
	// explainAnyway is the time after which reasons are looked for even if nothing seems to have changed: something may
	// not be watched.
	explainAnyway = 30 * time.Second
	// maxAwaited limits the number of objects that are looked at: they mostly wait for the same reason.
	maxAwaited = 20
)

// NewExplainer starts an Explainer, which the caller closes. Options.Items is ignored. It calls tell with the reasons
// of the objects that are waited for whenever these may have changed, one call after the other. Errors of requests are
// not reported: another look follows.
func NewExplainer(options Options, tell func(reasons map[display.Key]string)) *Explainer {
	ctx, stop := context.WithCancel(context.Background())
	e := &Explainer{options: options, tell: tell, woken: make(chan struct{}, 1), stop: stop, awaited: map[display.Key]awaited{}}
	e.running.Go(func() { e.run(ctx) })
	return e
}

// Close stops the requests, and returns when nothing is told any more.
func (e *Explainer) Close() {
	e.stop()
	e.running.Wait()
}

// Await says what is waited for from now on. It does not block.
func (e *Explainer) Await(items []*reconciler.InventoryItem) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.awaited
	e.awaited = map[display.Key]awaited{}
	isNew := false
	for _, item := range items {
		key := display.KeyOf(item)
		if hasAllInStatus(key.GroupKind) {
			continue
		}
		since := time.Now()
		if was, known := before[key]; known {
			since = was.since
		} else {
			isNew = true
		}
		e.awaited[key] = awaited{item: item, since: since}
	}
	if isNew {
		e.wake()
	}
}

func (e *Explainer) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// due returns the objects whose reasons are of interest, in order, and the time until there are more of them; zero if
// only a call of Await can add some.
func (e *Explainer) due() (items []*reconciler.InventoryItem, next time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.awaited {
		left := explainAfter - time.Since(a.since)
		switch {
		case left <= 0:
			items = append(items, a.item)
		case next == 0 || left < next:
			next = left
		}
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int {
		return strings.Compare(display.Text(a), display.Text(b))
	})
	return items[:min(len(items), maxAwaited)], next
}

func (e *Explainer) run(ctx context.Context) {
	watch := &explainedWatch{explainer: e}
	defer watch.close()
	failures := 0
	for {
		items, next := e.due()
		pause := time.Duration(0)
		if len(items) > 0 {
			watch.cover(ctx, items)
			begun := time.Now()
			again := explainAnyway
			if e.look(ctx, items) {
				failures = 0
			} else {
				failures++
				again = min(explainPause<<min(failures, 5), explainAnyway)
			}
			if next == 0 || again < next {
				next = again
			}
			pause = max(explainPause, 2*time.Since(begun))
		}
		if !sleep(ctx, pause, nil) || !sleep(ctx, next, e.woken) {
			return
		}
	}
}

// sleep waits until it is woken, at most for the duration, and reports whether the context has not ended. Without a way
// to be woken, zero means not at all; otherwise, it means no limit.
func sleep(ctx context.Context, duration time.Duration, woken <-chan struct{}) bool {
	if duration == 0 && woken == nil {
		return ctx.Err() == nil
	}
	var over <-chan time.Time
	if duration > 0 {
		timer := time.NewTimer(duration)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-woken:
	case <-over:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// look tells the reasons, and reports whether they could be read.
func (e *Explainer) look(ctx context.Context, items []*reconciler.InventoryItem) bool {
	options := e.options
	options.Items, options.SkipLogs = items, true
	report, err := Tree(ctx, options)
	if err != nil {
		return false
	}
	reasons := map[display.Key]string{}
	for _, node := range report.Nodes {
		if reason := Reason(node); reason != "" {
			reasons[display.KeyOf(node.Item)] = reason
		}
	}
	if ctx.Err() == nil {
		e.tell(reasons)
	}
	return true
}

// Reason returns why an object is not ready, in the words of the lowest object that knows, which it names; empty if
// nobody does.
func Reason(root *display.Node) string {
	node, text := lowestReason(root, root)
	if node == nil || node == root {
		return text
	}
	return node.Object.Kind + " " + node.Object.Name + ": " + text
}

// lowestReason returns the lowest object that says more than that it is not ready, and what it says. The message of the
// root has its finalizers already.
func lowestReason(node, root *display.Node) (*display.Node, string) {
	for _, child := range node.Children {
		if child.IsReady() {
			continue
		}
		if at, text := lowestReason(child, root); at != nil {
			return at, text
		}
	}
	for _, reason := range node.Why {
		if !reason.Vague && (node != root || !strings.HasPrefix(reason.Text, isBeingDeleted)) {
			return node, reason.Text
		}
	}
	return nil, ""
}

// explainedWatch watches what the reasons of objects depend on.
type explainedWatch struct {
	explainer *Explainer
	covered   map[display.Key]bool
	stop      context.CancelFunc
	running   sync.WaitGroup
	// ended is set if the watch has failed.
	ended atomic.Bool
}

// cover begins to watch, if there are objects that are not covered, or if the watch has failed.
func (w *explainedWatch) cover(ctx context.Context, items []*reconciler.InventoryItem) {
	if !w.ended.Load() && !slices.ContainsFunc(items, func(item *reconciler.InventoryItem) bool { return !w.covered[display.KeyOf(item)] }) {
		return
	}
	w.close()
	w.ended.Store(false)
	w.covered = map[display.Key]bool{}
	for _, item := range items {
		w.covered[display.KeyOf(item)] = true
	}
	ctx, w.stop = context.WithCancel(ctx)
	options := w.explainer.options
	options.Items = items
	w.running.Go(func() {
		err := Watch(ctx, options, WatchSink{Changed: w.explainer.wake})
		w.ended.Store(err != nil && ctx.Err() == nil)
	})
}

func (w *explainedWatch) close() {
	if w.stop != nil {
		w.stop()
		w.running.Wait()
	}
}
