// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/pkg/status"
)

var (
	_ receiver                     = &feed{}
	_ cache.ReflectorBookmarkStore = &feed{}
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
func (f *feed) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if known, ok := object.(*entry); ok {
			return known, nil
		}
		e, err := f.entry(object)
		if err != nil {
			return nil, err
		}
		f.kind.mu.Lock()
		defer f.kind.mu.Unlock()
		if !f.receiveLocked(e.size()) {
			f.overflowLocked()
			return nil, errTooMany
		}
		return e, nil
	}
}

// begin notes that a list begins.
func (f *feed) begin() {
	f.kind.mu.Lock()
	defer f.kind.mu.Unlock()
	f.receivedLocked()
}

// overflowLocked ends the feed, because there is no room for its objects.
func (f *feed) overflowLocked() {
	f.full = true
	f.cancel()
}

func (f *feed) entry(object any) (*entry, error) {
	if known, ok := object.(*entry); ok {
		return known, nil
	}
	named, ok := object.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("unexpected object of type %T", object)
	}
	e := &entry{key: types.NamespacedName{Namespace: named.GetNamespace(), Name: named.GetName()}}
	f.kind.mu.Lock()
	written, isWhole := f.own[e.key], f.kind.whole[e.key] > 0
	f.kind.mu.Unlock()
	if written.ResourceVersion != "" && written.ResourceVersion == named.GetResourceVersion() {
		e.observation = written // the object is still as we have written it
		return e, nil
	}
	reader := f.kind.cache.options.Reader
	switch object := object.(type) {
	case *unstructured.Unstructured:
		e.observation = reader.Glance(object)
		if isWhole {
			e.observation.Object = Kept(object)
		}
	case *metav1.PartialObjectMetadata:
		e.observation = reader.ReadMetadata(f.kind.gvk, object)
	default:
		return nil, fmt.Errorf("unexpected object of type %T", object)
	}
	return e, nil
}

// Add stores a new object.
func (f *feed) Add(object any) error { return f.Update(object) }

// Update stores the new state of an object.
func (f *feed) Update(object any) error {
	e, err := f.entry(object)
	if err != nil {
		return err
	}
	f.kind.mu.Lock()
	f.version = e.observation.ResourceVersion
	owners := f.changeLocked(e.key, &e.observation)
	f.kind.mu.Unlock()
	f.notify(owners)
	return nil
}

// Delete drops an object that is gone or has lost its label.
func (f *feed) Delete(object any) error {
	last, err := f.entry(object)
	if err != nil {
		return err
	}
	f.kind.mu.Lock()
	f.version = last.observation.ResourceVersion
	f.noteEndLocked(last.key, last.observation, object)
	owners := f.changeLocked(last.key, nil)
	f.kind.mu.Unlock()
	f.notify(owners)
	return nil
}

// maxEnded is the maximum number of outcomes that a feed remembers. Each is needed only until the next call for its
// owner.
const maxEnded = 1000

// noteEndLocked remembers the outcome of a Job or Pod that is gone: all its events may have arrived before any call has
// observed it.
func (f *feed) noteEndLocked(key types.NamespacedName, last Observation, object any) {
	result := last.Outcome
	whole, isWhole := object.(*unstructured.Unstructured)
	if !last.Deleting && isWhole && !endOf(whole).IsZero() && (last.Status == status.CurrentStatus || last.Status == status.FailedStatus) {
		// It was deleted at once.
		result = last.Status
	}
	if result == "" || !RunsToCompletion(f.kind.gvk.GroupKind()) {
		delete(f.ended, key)
		return
	}
	if f.ended == nil || len(f.ended) >= maxEnded {
		f.ended = map[types.NamespacedName]Observation{}
	}
	f.ended[key] = Observation{UID: last.UID, Outcome: result}
}

// Replace stores a complete list.
func (f *feed) Replace(objects []any, resourceVersion string) error {
	fresh := make(map[types.NamespacedName]*Observation, len(objects))
	for _, object := range objects {
		e, err := f.entry(object)
		if err != nil {
			return err
		}
		fresh[e.key] = &e.observation
	}
	var owners map[string]bool
	f.kind.settle(f, func() (news bool) {
		f.version = resourceVersion
		owners = f.replaceLocked(fresh)
		if f.refused {
			f.listed = true
			return false
		}
		return f.synchroniseLocked()
	})
	f.notify(owners)
	return nil
}

// replaceLocked stores a complete list, and returns the owners that may decide differently now.
func (f *feed) replaceLocked(fresh map[types.NamespacedName]*Observation) map[string]bool {
	f.receivedLocked()
	// The list was received within the limit. The observations that it replaces, also in other feeds, are dropped only
	// now.
	f.replacing = true
	owners := map[string]bool{}
	// An object that we have written may be gone before the feed received it.
	for _, known := range []map[types.NamespacedName]Observation{f.objects, f.own} {
		for key := range known {
			if fresh[key] == nil {
				maps.Copy(owners, f.changeLocked(key, nil))
			}
		}
	}
	for key, observation := range fresh {
		maps.Copy(owners, f.changeLocked(key, observation))
	}
	f.replacing = false
	return owners
}

// opened handles the answer to a watch request. If listing is allowed and watching is not, each attempt begins with a
// list whose changes are not watched; so from the first refusal on, a list counts only when the watch is open.
func (f *feed) opened(err error) {
	f.kind.settle(f, func() (news bool) {
		f.receivedLocked()
		f.refused = apierrors.IsForbidden(err) || err != nil && f.refused
		return err == nil && f.listed && f.synchroniseLocked()
	})
}

// synchroniseLocked notes that the objects are complete, and reports whether that is new.
func (f *feed) synchroniseLocked() (news bool) {
	if f.objects == nil {
		return false // the feed has ended
	}
	news = !f.synced()
	f.state, f.err, f.listed = feedSynced, nil, false
	return news
}

// Bookmark notes that nothing has changed up to the resource version.
func (f *feed) Bookmark(resourceVersion string) error {
	f.kind.mu.Lock()
	defer f.kind.mu.Unlock()
	f.version = resourceVersion
	return nil
}

// Resync does nothing.
func (f *feed) Resync() error { return nil }

// changeLocked stores an observation (nil: drops it) and returns the owners that may decide differently now. Our own
// writes are no news.
func (f *feed) changeLocked(key types.NamespacedName, observation *Observation) map[string]bool {
	if f.objects == nil {
		return nil // the feed has ended
	}
	before, existed := f.objects[key]
	written, wrote := f.own[key]
	owners := map[string]bool{}
	f.storeLocked(key, observation)
	if observation == nil {
		if wrote && !written.OlderThan(f.version) {
			return nil
		}
		f.forgetOwnLocked(key)
		owners[before.Owner] = existed
		owners[written.Owner] = wrote
		return owners
	}
	delete(f.ended, key)
	if wrote {
		// Our own write may have taken the object from another owner.
		owners[before.Owner] = existed && before.Owner != observation.Owner
	}
	if wrote && observation.OlderThan(written.ResourceVersion) {
		return owners
	}
	f.forgetOwnLocked(key)
	if wrote {
		before, existed = written, true
	}
	if !existed || before.differs(*observation) {
		owners[observation.Owner] = true
		owners[before.Owner] = existed || owners[before.Owner]
	}
	return owners
}

// storeLocked stores an observation (nil: drops it).
func (f *feed) storeLocked(key types.NamespacedName, observation *Observation) {
	var now, before *entry
	if known, ok := f.objects[key]; ok {
		before = &entry{key, known}
	}
	if observation == nil {
		delete(f.objects, key)
	} else {
		f.objects[key], now = *observation, &entry{key, *observation}
	}
	if !f.kind.cache.keep(now, before) && !f.replacing {
		f.overflowLocked()
	}
}

// forgetOwnLocked drops the response of our write to an object.
func (f *feed) forgetOwnLocked(key types.NamespacedName) {
	if written, wrote := f.own[key]; wrote {
		f.kind.cache.keep(nil, &entry{key, written})
		delete(f.own, key)
	}
}

func (f *feed) notify(owners map[string]bool) {
	for owner, affected := range owners {
		if affected && owner != "" {
			f.kind.cache.options.Notify(owner)
		}
	}
}

// An untrusted server can send endless lists, and events about ever new objects. So Options.MaxBytes limits the
// observations that are kept, and objects are trimmed to these before the next page of a list is requested.

// errTooMany means that there is no room for the objects of a kind.
var errTooMany = errors.New("the cluster has too many objects")

const (
	// fixedSize is how much memory an observation takes besides its texts, with its place in a map, in bytes.
	fixedSize = 600
	// largestEntry is the maximum size of an entry: a genuine API server does not send longer texts.
	largestEntry = 16 << 10
)

// size estimates the memory that an entry takes, in bytes.
func (e *entry) size() int64 {
	o := &e.observation
	total := fixedSize + len(e.key.Namespace) + len(e.key.Name)
	for _, text := range []string{string(o.UID), o.ResourceVersion, o.Owner, o.Record, o.Finalizers, o.Fingerprint, o.Message, o.Reason, o.PrunePolicy, o.Rules} {
		total += len(text)
	}
	return int64(total)
}

// fits reports whether there is room for so many bytes.
func (o Options) fits(bytes int64) bool { return o.MaxBytes <= 0 || bytes <= o.MaxBytes }

// keep notes that an entry is kept instead of another one; either may be nil. It reports false if there is no room for
// it.
func (c *Cache) keep(now, before *entry) bool {
	size := int64(0)
	if now != nil {
		size = now.size()
	}
	change := size
	if before != nil {
		change -= before.size()
	}
	return c.options.fits(c.kept.Add(change)) && (c.options.MaxBytes <= 0 || size <= largestEntry)
}

// receiveLocked records that an item of a list has arrived, which counts as kept until the list is complete. It reports
// false if there is no room for the item. A list may take room in addition to the one that it replaces.
func (f *feed) receiveLocked(size int64) bool {
	if f.objects == nil {
		return false // the feed has ended
	}
	f.listing += size
	options := f.kind.cache.options
	return options.fits((f.kind.cache.kept.Add(size)+1)/2) && options.fits(f.listing) && (options.MaxBytes <= 0 || size <= largestEntry)
}

// receivedLocked is called when a list is complete, or begins anew.
func (f *feed) receivedLocked() {
	f.kind.cache.kept.Add(-f.listing)
	f.listing = 0
}
