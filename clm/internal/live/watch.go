// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/display"
)

// WatchSink is notified when the tree may have changed.
type WatchSink struct {
	// Changed is called once when all watches on the objects of Tree have started, and then after each change. It must
	// not block, and may be called concurrently. Required.
	Changed func()
	// Note receives one note about each resource that the user may not watch. It may be called concurrently. Defaults
	// to none.
	Note func(note display.Note)

	// allEvents means that all events count as changes, even if they cannot be reasons why an object is not ready.
	allEvents bool
}

// Watch calls Changed when Tree with the same options may have another result. It returns nil when the context ends. It
// watches only the metadata of objects: one watch per kind and namespace, and, unless Options.Reasons is NoReasons, the
// events of each namespace. Changes of objects outside the tree are ignored.
func Watch(ctx context.Context, options Options, sink WatchSink) error {
	s, err := newSurvey(options)
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(s.Client.Config()), s.Client.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up watches: %w", err)
	}
	w := &treeWatch{survey: s, sink: sink, metadata: client, roots: map[display.Key]bool{}, owners: map[apitypes.UID][]apitypes.UID{}, members: map[apitypes.UID]bool{}}
	places := map[string]bool{}
	for _, t := range s.targets {
		w.roots[t.key] = true
		if s.Reasons != NoReasons {
			places[cmp.Or(t.key.Namespace, metav1.NamespaceDefault)] = true
		}
	}
	queries := planQueries(s.targets)
	w.missing = len(queries) + len(places)
	if w.missing == 0 {
		sink.Changed()
	}
	group, watching := errgroup.WithContext(ctx)
	for _, q := range queries {
		group.Go(func() error { return w.kind(watching, q) })
	}
	for namespace := range places {
		group.Go(func() error { return w.events(watching, namespace) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Watches also end if the user may not watch anything.
	<-ctx.Done()
	return nil
}

// maxDepth limits how many owners of an object are followed: CronJob, Job, Pod, claim, and one custom resource above.
const maxDepth = 5

// treeWatch determines which objects belong to the tree. Its watches cover all objects that Tree reads, with their
// owners.
type treeWatch struct {
	*survey
	sink     WatchSink
	metadata metadata.Interface
	roots    map[display.Key]bool

	mu      sync.Mutex
	missing int // watches that have not listed their objects yet
	owners  map[apitypes.UID][]apitypes.UID
	members map[apitypes.UID]bool
}

// kind watches the objects of one LIST of Tree.
func (w *treeWatch) kind(ctx context.Context, q query) error {
	resource := w.metadata.Resource(schema.GroupVersionResource{Group: q.resource.Group, Version: q.resource.Version, Resource: q.resource.plural}).Namespace(q.namespace)
	selection := apiserver.ListSelection{}
	if !q.all {
		selection.Labels = w.Selector.String()
	}
	look := func(object runtime.Object) bool { return w.belongs(q.resource.GroupKind(), object) }
	note := display.Note{Verb: "list and watch", Group: q.resource.Group, Resource: q.resource.plural, Namespace: q.namespace}
	return w.follow(ctx, apiserver.ListWatch(resource, selection), look, note)
}

// events watches the events that may be reasons.
func (w *treeWatch) events(ctx context.Context, namespace string) error {
	reported := cache.NewListWatchFromClient(w.core.RESTClient(), events.plural, namespace, fields.Everything())
	look := func(object runtime.Object) bool {
		event, ok := object.(*corev1.Event)
		if !ok {
			return false
		}
		about := eventOf(event).Object
		if !w.sink.allEvents && event.Type != corev1.EventTypeWarning && about.Key().GroupKind != claims.GroupKind() {
			return false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.roots[about.Key()] || w.members[about.UID]
	}
	return w.follow(ctx, reported, look, display.Note{Verb: "list and watch", Resource: events.plural, Namespace: namespace})
}

// follow watches a list, and calls Changed for changes of objects that isOurs accepts.
func (w *treeWatch) follow(ctx context.Context, source *cache.ListWatch, isOurs func(object runtime.Object) bool, denial display.Note) error {
	first := true
	err := apiserver.Watch(ctx, source, func(change apiserver.Change) error {
		changed := false
		for _, object := range change.Objects {
			changed = isOurs(object) || changed
		}
		switch {
		case first:
			first = false
			w.arrived()
		case changed:
			w.sink.Changed()
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err):
		if w.sink.Note != nil {
			w.sink.Note(denial)
		}
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		// The type is no longer served, or cannot be watched.
	default:
		return err
	}
	if first {
		w.arrived()
	}
	return nil
}

// arrived counts a watch that has listed its objects, and calls Changed after the last one.
func (w *treeWatch) arrived() {
	w.mu.Lock()
	w.missing--
	complete := w.missing == 0
	w.mu.Unlock()
	if complete {
		w.sink.Changed()
	}
}

// belongs reports whether an object is part of the tree, as far as its owners are known. If an owner arrives later, the
// watch on that calls Changed.
func (w *treeWatch) belongs(kind schema.GroupKind, object runtime.Object) bool {
	found, ok := object.(metav1.Object)
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var owners []apitypes.UID
	for _, owner := range found.GetOwnerReferences() {
		owners = append(owners, owner.UID)
	}
	w.owners[found.GetUID()] = owners
	// The claims of a StatefulSet are recognized only by their names.
	isMember := w.roots[display.Key{GroupKind: kind, Namespace: found.GetNamespace(), Name: found.GetName()}] ||
		kind == claims.GroupKind() && len(owners) == 0 || w.ownedLocked(owners, maxDepth)
	if isMember {
		w.members[found.GetUID()] = true
	}
	return isMember
}

func (w *treeWatch) ownedLocked(owners []apitypes.UID, depth int) bool {
	for _, owner := range owners {
		if w.members[owner] || depth > 0 && w.ownedLocked(w.owners[owner], depth-1) {
			return true
		}
	}
	return false
}

const (
	// followPause is the minimum time between two looks.
	followPause = time.Second
	// followAnyway is the time after which follow looks again even if nothing has changed: something may not be watched.
	followAnyway = 30 * time.Second
)

// follow calls look when all watches on the objects of Tree have started, and again after each change. It returns nil
// when the context ends. After an error of a later look, it retries.
func follow(ctx context.Context, options Options, note func(display.Note), look func(ctx context.Context) error) error {
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return Watch(ctx, options, WatchSink{Changed: wake, Note: note, allEvents: true})
	})
	group.Go(func() error {
		for first := true; ; first = false {
			select {
			case <-woken:
			case <-time.After(followAnyway):
			case <-ctx.Done():
				return nil
			}
			begun := time.Now()
			if err := look(ctx); err != nil && first && ctx.Err() == nil {
				return err
			}
			select {
			case <-time.After(max(followPause, 2*time.Since(begun))):
			case <-ctx.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

// once returns a function that passes each note on only once, and never concurrently.
func once(pass func(note display.Note)) func(note display.Note) {
	var mu sync.Mutex
	told := map[display.Note]bool{}
	return func(note display.Note) {
		mu.Lock()
		defer mu.Unlock()
		if !told[note] && pass != nil {
			pass(note)
		}
		told[note] = true
	}
}
