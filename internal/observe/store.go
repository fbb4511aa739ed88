// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/pkg/status"
)

// feedStore is a feed as its reflector sees it.
type feedStore feed

var (
	_ cache.TransformingStore      = &feedStore{}
	_ cache.ReflectorBookmarkStore = &feedStore{}
	_ opening                      = &feedStore{}
)

// entry replaces an object while a list is being received, so that the objects of a list are never in memory all at
// once.
type entry struct {
	key         types.NamespacedName
	observation Observation
}

// GetObjectMeta lets a reflector put entries into the store in which it collects a list.
func (e *entry) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.key.Namespace, Name: e.key.Name}
}

// GetObjectKind lets a list have entries.
func (e *entry) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the entry, which is not changed.
func (e *entry) DeepCopyObject() runtime.Object { return e }

// Transformer returns the function that turns the objects of a list into entries.
func (s *feedStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if known, ok := object.(*entry); ok {
			return known, nil
		}
		e, err := s.entry(object)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.listing.add(e.size()) {
			s.overflow()
			return nil, errTooMany
		}
		return e, nil
	}
}

// begin notes that a list begins.
func (s *feedStore) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listing.over()
}

// overflow ends the feed, because there is no room for its objects. The mutex must be held.
func (s *feedStore) overflow() {
	s.full = true
	s.cancel()
}

func (s *feedStore) entry(object any) (*entry, error) {
	if known, ok := object.(*entry); ok {
		return known, nil
	}
	named, ok := object.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("unexpected object of type %T", object)
	}
	e := &entry{key: types.NamespacedName{Namespace: named.GetNamespace(), Name: named.GetName()}}
	if written, known := s.written(e.key, named.GetResourceVersion()); known {
		e.observation = written
		return e, nil
	}
	reader := s.kind.cache.options.Reader
	switch object := object.(type) {
	case *unstructured.Unstructured:
		e.observation = reader.Glance(object)
		if s.kind.isWhole(e.key) {
			e.observation.Object = Kept(object)
		}
	case *metav1.PartialObjectMetadata:
		e.observation = reader.ReadMetadata(s.kind.gvk, object)
	default:
		return nil, fmt.Errorf("unexpected object of type %T", object)
	}
	return e, nil
}

// written returns the observation of our last write to an object, if the object is still at that resource version.
func (s *feedStore) written(key types.NamespacedName, resourceVersion string) (Observation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, known := s.own[key]
	return own, known && own.ResourceVersion == resourceVersion
}

// Add stores a new object.
func (s *feedStore) Add(object any) error { return s.Update(object) }

// Update stores the new state of an object.
func (s *feedStore) Update(object any) error {
	e, err := s.entry(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.version = e.observation.ResourceVersion
	owners := s.change(e.key, &e.observation)
	s.mu.Unlock()
	s.notify(owners)
	return nil
}

// Delete drops an object that is gone or has lost its label.
func (s *feedStore) Delete(object any) error {
	gone, ok := object.(metav1.Object)
	if !ok {
		return fmt.Errorf("unexpected object of type %T", object)
	}
	key := types.NamespacedName{Namespace: gone.GetNamespace(), Name: gone.GetName()}
	last, err := s.entry(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.version = gone.GetResourceVersion()
	s.noteEnd(key, last.observation, object)
	owners := s.change(key, nil)
	s.mu.Unlock()
	s.notify(owners)
	return nil
}

// maxEnded is how many ends of objects are remembered. Each is of interest until the next call for its owner.
const maxEnded = 1000

// noteEnd remembers how a Job or Pod had ended that is gone: its events may have come one after the other before
// anybody has looked. The mutex must be held.
func (s *feedStore) noteEnd(key types.NamespacedName, last Observation, object any) {
	result := last.Outcome
	whole, isWhole := object.(*unstructured.Unstructured)
	if !last.Deleting && isWhole && !endOf(whole).IsZero() && (last.Status == status.CurrentStatus || last.Status == status.FailedStatus) {
		// It was deleted at once.
		result = last.Status
	}
	if result == "" || !RunsToCompletion(s.kind.gvk.GroupKind()) {
		delete(s.ended, key)
		return
	}
	if s.ended == nil || len(s.ended) >= maxEnded {
		s.ended = map[types.NamespacedName]Observation{}
	}
	s.ended[key] = Observation{UID: last.UID, Outcome: result}
}

// Replace stores a complete list.
func (s *feedStore) Replace(objects []any, resourceVersion string) error {
	fresh := make(map[types.NamespacedName]*Observation, len(objects))
	for _, object := range objects {
		e, err := s.entry(object)
		if err != nil {
			return err
		}
		fresh[e.key] = &e.observation
	}
	s.mu.Lock()
	s.version = resourceVersion
	s.listing.over()
	// The list was received within the limit. What it replaces, also in other feeds, goes only now.
	s.replacing = true
	owners := map[string]bool{}
	// An object that we have written may be gone before the feed received it.
	for _, known := range []map[types.NamespacedName]Observation{s.objects, s.own} {
		for key := range known {
			if fresh[key] == nil {
				maps.Copy(owners, s.change(key, nil))
			}
		}
	}
	for key, observation := range fresh {
		maps.Copy(owners, s.change(key, observation))
	}
	s.replacing = false
	news := false
	if s.refused {
		s.listed = true
	} else {
		news = s.synchronised()
	}
	s.mu.Unlock()
	s.notify(owners)
	if news {
		s.kind.settle((*feed)(s))
	}
	return nil
}

// opened takes the answer to a request to watch. Where listing is allowed and watching is not, each attempt begins with
// a list: nobody follows what becomes of that, so from the first refusal on, a list counts only when the watch is open.
func (s *feedStore) opened(err error) {
	s.mu.Lock()
	s.listing.over()
	news := false
	switch {
	case apierrors.IsForbidden(err):
		s.refused = true
	case err == nil:
		s.refused = false
		if s.listed {
			news = s.synchronised()
		}
	}
	s.mu.Unlock()
	if news {
		s.kind.settle((*feed)(s))
	}
}

// synchronised notes that the objects are complete, and reports whether that is new. The mutex must be held.
func (s *feedStore) synchronised() bool {
	if s.objects == nil {
		return false // the feed has ended
	}
	news := s.state != feedSynced
	s.state, s.err, s.since, s.listed = feedSynced, nil, time.Now(), false
	return news
}

// Bookmark notes that nothing has changed up to the resource version.
func (s *feedStore) Bookmark(resourceVersion string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = resourceVersion
	return nil
}

// Resync does nothing.
func (s *feedStore) Resync() error { return nil }

// change stores an observation (nil: drops it) and returns the owners that may decide differently now. Our own writes
// are no news.
func (s *feedStore) change(key types.NamespacedName, observation *Observation) map[string]bool {
	if s.objects == nil {
		return nil // the feed has ended
	}
	before, existed := s.objects[key]
	written, wrote := s.own[key]
	owners := map[string]bool{}
	s.store(key, observation)
	if observation == nil {
		if wrote && !written.OlderThan(s.version) {
			return nil
		}
		s.forgetOwn(key)
		owners[before.Owner] = existed
		owners[written.Owner] = wrote
		return owners
	}
	delete(s.ended, key)
	if wrote {
		// Our own write may have taken the object from another owner.
		owners[before.Owner] = existed && before.Owner != observation.Owner
	}
	if wrote && observation.OlderThan(written.ResourceVersion) {
		return owners
	}
	s.forgetOwn(key)
	if wrote {
		before, existed = written, true
	}
	if !existed || before.differs(*observation) {
		owners[observation.Owner] = true
		owners[before.Owner] = existed || owners[before.Owner]
	}
	return owners
}

// store stores an observation (nil: drops it). The mutex must be held.
func (s *feedStore) store(key types.NamespacedName, observation *Observation) {
	var now, before *entry
	if known, ok := s.objects[key]; ok {
		before = &entry{key, known}
	}
	if observation == nil {
		delete(s.objects, key)
	} else {
		s.objects[key], now = *observation, &entry{key, *observation}
	}
	if !s.kind.cache.keep(now, before) && !s.replacing {
		s.overflow()
	}
}

// forgetOwn drops the response of our write to an object. The mutex must be held.
func (s *feedStore) forgetOwn(key types.NamespacedName) {
	if written, wrote := s.own[key]; wrote {
		s.kind.cache.keep(nil, &entry{key, written})
		delete(s.own, key)
	}
}

func (s *feedStore) notify(owners map[string]bool) {
	for owner, affected := range owners {
		if affected && owner != "" {
			s.kind.cache.options.Notify(owner)
		}
	}
}
