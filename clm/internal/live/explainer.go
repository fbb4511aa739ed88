// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Explainer finds out why objects are not ready while an operation waits for them. It makes no requests for objects
// that are waited for less than a second, nor for CustomResourceDefinitions. It is safe for concurrent use.
type Explainer struct {
	options Options
	tell    func(reasons map[display.Key]string)
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
	// explainPause is the least time between two looks. If a look takes longer, that is the least time.
	explainPause = 3 * time.Second
	// maxAwaited limits the number of objects that are looked at: they mostly wait for the same reason.
	maxAwaited = 20
)

// NewExplainer starts an Explainer, which the caller closes. Options.Items is ignored. It calls tell with the reasons
// of the objects that are waited for again and again, one call after the other. Errors of requests are not reported:
// another look follows.
func NewExplainer(options Options, tell func(reasons map[display.Key]string)) *Explainer {
	ctx, stop := context.WithCancel(context.Background())
	e := &Explainer{options: options, tell: tell, stop: stop, awaited: map[display.Key]awaited{}}
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
	for _, item := range items {
		key := display.KeyOf(item)
		if hasAllInStatus(key.GroupKind) {
			continue
		}
		since := time.Now()
		if was, known := before[key]; known {
			since = was.since
		}
		e.awaited[key] = awaited{item: item, since: since}
	}
}

// due returns the objects whose reasons are of interest, in order.
func (e *Explainer) due() []*reconciler.InventoryItem {
	e.mu.Lock()
	defer e.mu.Unlock()
	var items []*reconciler.InventoryItem
	for _, a := range e.awaited {
		if time.Since(a.since) >= explainAfter {
			items = append(items, a.item)
		}
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int {
		return strings.Compare(display.Text(a), display.Text(b))
	})
	return items[:min(len(items), maxAwaited)]
}

func (e *Explainer) run(ctx context.Context) {
	for pause := explainAfter / 2; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = explainAfter / 2
		if items := e.due(); len(items) > 0 {
			begun := time.Now()
			e.look(ctx, items)
			pause = max(explainPause, time.Since(begun))
		}
	}
}

// look tells the reasons if they can be read.
func (e *Explainer) look(ctx context.Context, items []*reconciler.InventoryItem) {
	options := e.options
	options.Items, options.SkipLogs = items, true
	report, err := Tree(ctx, options)
	if err != nil {
		return
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
}

// Reason returns why an object is not ready, in the words of the lowest object that knows, which it names; empty if
// there is no such object.
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
