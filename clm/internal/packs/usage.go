// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

// Usage is how many bytes the contents of revisions take. It is not safe for concurrent use.
type Usage struct {
	places map[int64]*place
	// sizes are the bytes of all frames with the content of a revision, by its number.
	sizes map[int64]int64
	// users is how many revisions need the frame of a revision.
	users map[int64]int
	bytes int64
}

// Usage returns how many bytes the contents of the revisions take. Contents that are not in packs do not count. That takes time in proportion to the number of
// revisions and frames.
func (c Catalog) Usage() *Usage {
	u := &Usage{places: c.places(), sizes: map[int64]int64{}, users: map[int64]int{}}
	for _, pack := range c.Packs {
		for _, frame := range pack.Frames {
			u.sizes[frame.Revision] += int64(frame.Bytes)
		}
	}
	for _, revision := range c.Revisions {
		u.count(revision.Number, 1)
	}
	return u
}

// Bytes returns how many bytes the contents of the revisions take that were not forgotten.
func (u *Usage) Bytes() int64 { return u.bytes }

// Forget leaves out a revision of the catalog, which must not have been forgotten before. A base stays as long as another revision needs it. That takes the same time
// whatever the catalog has.
func (u *Usage) Forget(number int64) { u.count(number, -1) }

// count changes the number of revisions that need the frames of a revision.
func (u *Usage) count(number int64, more int) {
	found := u.places[number]
	if found == nil {
		return
	}
	needed := []int64{number}
	if found.Base != 0 && found.Base != number {
		needed = append(needed, found.Base)
	}
	for _, frame := range needed {
		before := u.users[frame]
		u.users[frame] = before + more
		switch {
		case before == 0:
			u.bytes += u.sizes[frame]
		case before+more == 0:
			u.bytes -= u.sizes[frame]
		}
	}
}
