// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
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

// receive notes that an item of a list has come, which counts as kept until the list is complete. It reports false if
// there is no room for the item. A list may be received beside the one that it is going to replace. The mutex must be
// held.
func (f *feed) receive(size int64) bool {
	if f.objects == nil {
		return false // the feed has ended
	}
	f.listing += size
	options := f.kind.cache.options
	return options.fits((f.kind.cache.kept.Add(size)+1)/2) && options.fits(f.listing) && (options.MaxBytes <= 0 || size <= largestEntry)
}

// received is called when a list is complete, or begins anew. The mutex must be held.
func (f *feed) received() {
	f.kind.cache.kept.Add(-f.listing)
	f.listing = 0
}
