// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// A server that is not trusted can send a list without end, and events about ever new objects. So Options.MaxBytes
// limits what is kept of them, and objects are trimmed to that before the next page of a list is requested.

// errTooMany means that there is no room for the objects of a kind.
var errTooMany = errors.New("the cluster has too many objects")

const (
	// fixedSize is how much memory an observation takes besides its texts, with its place in a map, in bytes.
	fixedSize = 600
	// largestEntry is the maximum size of an entry: texts of an object that are longer are not those of an API server.
	largestEntry = 16 << 10
	// longestID is the maximum length of UIDs and label values that guards keep.
	longestID = 128
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

// listing is the size of a list that is being received, which counts as kept until it is complete. It is safe for
// concurrent use: an attempt that was given up may still receive a page.
type listing struct {
	cache *Cache
	mu    sync.Mutex
	size  int64
	ended bool
}

// add reports false if there is no room for an item. A list may be received beside the one that it is going to replace.
func (l *listing) add(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.size += size
	options := l.cache.options
	return options.fits((l.cache.kept.Add(size)+1)/2) && options.fits(l.size) && (options.MaxBytes <= 0 || size <= largestEntry)
}

// over is called when the list is complete, or begins anew.
func (l *listing) over() { l.forget(false) }

// end is called when no more lists are wanted.
func (l *listing) end() { l.forget(true) }

func (l *listing) forget(ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.kept.Add(-l.size)
	l.size, l.ended = 0, l.ended || ended
}

// trims is a store that takes trimmed objects.
type trims interface {
	cache.TransformingStore
	// begin is called before the first page of a list.
	begin()
}

// trimmed lists with trimmed objects.
func trimmed(list cache.ListWithContextFunc, store trims) cache.ListWithContextFunc {
	trim := store.Transformer()
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if options.Continue == "" {
			store.begin()
		}
		page, err := list(ctx, options)
		if err != nil {
			return nil, err
		}
		about, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("reading a list: %w", err)
		}
		small := &internalversion.List{ListMeta: metav1.ListMeta{
			ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue(), RemainingItemCount: about.GetRemainingItemCount(),
		}}
		return small, meta.EachListItem(page, func(object runtime.Object) error {
			item, err := trim(object)
			if err != nil {
				return err
			}
			if kept, ok := item.(runtime.Object); ok {
				small.Items = append(small.Items, kept)
			}
			return nil
		})
	}
}

// trimming is a store of metadata that gets no more of it than the observer needs, and not too much.
type trimming struct {
	cache.ReflectorStore
	cache *Cache
	// end ends the watch.
	end     context.CancelCauseFunc
	listing *listing
}

// listAndWatchTrimmed is listAndWatchMetadata for a store that need not have all of the metadata.
func (c *Cache) listAndWatchTrimmed(ctx context.Context, s source, store cache.ReflectorStore) error {
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	small := &trimming{ReflectorStore: store, cache: c, end: end, listing: &listing{cache: c}}
	defer small.listing.end()
	err := c.listAndWatchMetadata(within, s, small)
	if errors.Is(context.Cause(within), errTooMany) {
		return errTooMany
	}
	return err
}

// Transformer returns the function that trims the objects of a list.
func (s *trimming) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		small, err := s.trim(object)
		if err != nil {
			return nil, err
		}
		if !s.listing.add(fixedSize + int64(len(small.Namespace)+len(small.Name)+len(small.ResourceVersion))) {
			s.end(errTooMany)
			return nil, errTooMany
		}
		return small, nil
	}
}

// Add trims a new object.
func (s *trimming) Add(object any) error { return s.pass(object, s.ReflectorStore.Add) }

// Update trims a changed object.
func (s *trimming) Update(object any) error { return s.pass(object, s.ReflectorStore.Update) }

// Delete trims a deleted object.
func (s *trimming) Delete(object any) error { return s.pass(object, s.ReflectorStore.Delete) }

func (s *trimming) pass(object any, take func(object any) error) error {
	small, err := s.trim(object)
	if err != nil {
		return err
	}
	return take(small)
}

// Replace ends a list.
func (s *trimming) Replace(objects []any, resourceVersion string) error {
	s.begin()
	return s.ReflectorStore.Replace(objects, resourceVersion)
}

func (s *trimming) opened(error) { s.begin() }

func (s *trimming) begin() { s.listing.over() }

// trim returns the parts of metadata that guards and watches of names need. It leaves out identifiers that no API
// server has.
func (s *trimming) trim(object any) (*metav1.PartialObjectMetadata, error) {
	whole, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("unexpected object of type %T", object)
	}
	small := &metav1.PartialObjectMetadata{TypeMeta: whole.TypeMeta}
	small.Namespace, small.Name, small.ResourceVersion = whole.Namespace, whole.Name, whole.ResourceVersion
	if len(whole.UID) <= longestID {
		small.UID = whole.UID
	}
	ownerLabel := s.cache.options.Reader.OwnerLabel
	if label := whole.Labels[ownerLabel]; label != "" && len(label) <= longestID {
		small.Labels = map[string]string{ownerLabel: label}
	}
	return small, nil
}
