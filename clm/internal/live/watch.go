// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/cluster"
)

// Sink receives what a Survey notices. Its functions must not block, and may be called concurrently.
type Sink struct {
	// Changed is called when Survey.Tree may have another result. Required, except for a Survey that does not watch.
	Changed func()
	// Trouble receives the errors of watches that had begun; they are retried. Defaults to none.
	Trouble func(err error)
}

// NewSurvey returns a Survey of nothing. The caller closes it.
func NewSurvey(sink Sink) *Survey {
	s := &Survey{
		sink:    sink,
		listing: make(chan struct{}, maxRequests),
		feeds:   map[query]*feed{},
		objects: map[display.Key]*object{},
		owned:   map[apitypes.UID]map[display.Key]*object{},
		events:  map[apitypes.NamespacedName]Event{},
		lines:   map[crash]*line{},
		notes:   sets.New[display.Note](),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all watches. When it returns, no function of the sink will be called again.
func (s *Survey) Close() {
	s.stop()
	s.running.Wait()
}

// Set sets what to survey. Watches that are still needed continue.
func (s *Survey) Set(options Options) error {
	if options.Selector == nil {
		options.Selector = labels.Everything()
	}
	if s.core == nil {
		if err := s.connect(options.Client); err != nil {
			return err
		}
	}
	if err := s.resolve(options); err != nil {
		return err
	}
	wanted := s.plan()
	s.mu.Lock()
	defer s.mu.Unlock()
	for q, f := range s.feeds {
		if !slices.Contains(wanted, q) {
			f.stop()
			_, _ = s.takeLocked(f, apiserver.Change{All: true}) // nothing is converted
			f.stopped = true
			delete(s.feeds, q)
		}
	}
	for _, q := range wanted {
		if s.feeds[q] == nil {
			f := &feed{query: q, began: make(chan struct{})}
			var ctx context.Context
			ctx, f.stop = context.WithCancel(s.ctx)
			s.feeds[q] = f
			s.running.Go(func() { s.run(ctx, f) })
		}
	}
	return nil
}

func (s *Survey) connect(to cluster.Client) (err error) {
	if s.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(to.Config()), to.HttpClient()); err == nil {
		s.dynamic, err = dynamic.NewForConfigAndClient(to.Config(), to.HttpClient())
	}
	if err == nil {
		s.core, err = corev1client.NewForConfigAndClient(to.Config(), to.HttpClient())
	}
	if err != nil {
		return fmt.Errorf("setting up the reading of dependents: %w", err)
	}
	return nil
}

// Tree is like the function Tree, with what is known. It returns when all objects were listed.
func (s *Survey) Tree(ctx context.Context) (*Report, error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s.report(ctx)
}

// refresh waits for the lists, and reads what they do not cover.
func (s *Survey) refresh(ctx context.Context) error {
	if time.Since(s.resolved) >= relook && slices.ContainsFunc(s.targets, isUnserved) {
		if err := s.Set(s.options); err != nil {
			return err
		}
	}
	s.notes.Clear()
	for _, f := range s.feeds {
		select {
		case <-f.began:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.mu.Lock()
		note, err := f.note, f.err
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if note != nil {
			s.note(*note)
		}
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	return s.readDoubtful(ctx)
}

// firstRetry is the shortest pause after an error; the longest is relook.
const firstRetry = 500 * time.Millisecond

// errListed ends a watch that was begun only for its list.
var errListed = errors.New("listed")

// run lists and watches the objects of a feed until the context ends.
func (s *Survey) run(ctx context.Context, f *feed) {
	for delay := firstRetry; ; delay = min(2*delay, relook) {
		listed := false
		err := apiserver.Watch(ctx, s.source(f.query), func(change apiserver.Change) error {
			listed = listed || change.All
			return s.take(f, change)
		})
		if ctx.Err() != nil || errors.Is(err, errListed) {
			return
		}
		switch hasTime := s.hasEnded(f, listed, err); {
		case s.once:
			return
		case hasTime:
			delay = relook
		case listed:
			delay = firstRetry
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
	}
}

// take keeps a change, and says so if it matters.
func (s *Survey) take(f *feed, change apiserver.Change) error {
	s.mu.Lock()
	wasTroubled := f.isTroubled
	f.isTroubled = change.Trouble != nil
	if f.stopped || f.isTroubled {
		s.mu.Unlock()
		if change.Trouble != nil && !wasTroubled && s.sink.Trouble != nil {
			s.sink.Trouble(change.Trouble)
		}
		return nil
	}
	ours, err := s.takeLocked(f, change)
	ours = ours || wasTroubled
	switch {
	case err != nil:
	case change.All:
		ours = ours && f.hasBegun || f.err != nil
		f.listed, f.err = true, nil
		f.beginLocked()
	default:
		f.note = nil // the watch has begun
	}
	s.mu.Unlock()
	if ours {
		s.sink.Changed()
	}
	if err == nil && s.once {
		err = errListed
	}
	return err
}

// beginLocked wakes those who wait for the first list.
func (f *feed) beginLocked() {
	if !f.hasBegun {
		f.hasBegun = true
		close(f.began)
	}
}

// hasEnded notes why a feed has ended. It reports whether the next attempt has time, because the user may not read or
// watch the objects, or they cannot be watched.
func (s *Survey) hasEnded(f *feed, listed bool, err error) (hasTime bool) {
	s.mu.Lock()
	isDenied, before := apierrors.IsForbidden(err), f.note
	hasTime = isDenied || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
	changed, isTrouble := false, !hasTime && f.listed
	f.note, f.err = s.denial(f, isDenied), nil
	if !hasTime && !isTrouble {
		f.err = fmt.Errorf("listing %s in namespace %q: %w", f.resource.plural, f.namespace, err)
	}
	if hasTime && !listed {
		changed, _ = s.takeLocked(f, apiserver.Change{All: true}) // nothing is converted
		f.listed = !isDenied
	}
	changed = f.hasBegun && (changed || (before == nil) != (f.note == nil))
	f.beginLocked()
	s.mu.Unlock()
	if changed {
		s.sink.Changed()
	}
	if isTrouble && s.sink.Trouble != nil {
		s.sink.Trouble(err)
	}
	return hasTime
}

// denial returns the note about a feed that the user may not read or watch.
func (s *Survey) denial(f *feed, isDenied bool) *display.Note {
	note := &display.Note{Verb: "list and watch", Group: f.resource.Group, Resource: f.resource.plural, Namespace: f.namespace}
	switch {
	case !isDenied || s.once && !f.all:
		// A user who may not list the dependents may be allowed to get them: these are read one by one.
		return nil
	case s.once:
		note.Verb = "list"
	}
	return note
}

// followPause is the minimum time between two looks.
const followPause = time.Second

// follow calls look with what was read, and again after each change. It returns nil when the context ends. After an
// error of a later request, it retries.
func follow(ctx context.Context, options Options, look func(s *Survey)) error {
	woken := make(chan struct{}, 1)
	s := NewSurvey(Sink{Changed: func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}})
	defer s.Close()
	if err := s.Set(options); err != nil {
		return err
	}
	for first := true; ; first = false {
		begun := time.Now()
		switch err := s.refresh(ctx); {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			look(s)
		case first:
			return err
		}
		select {
		case <-time.After(max(followPause, 2*time.Since(begun))):
		case <-ctx.Done():
			return nil
		}
		select {
		case <-woken:
		case <-time.After(relook): // something may not be watched
		case <-ctx.Done():
			return nil
		}
	}
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
