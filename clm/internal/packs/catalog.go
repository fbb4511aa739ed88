// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/deltas"
)

// Catalog says where contents are stored. It is what a reference records.
type Catalog struct {
	// Revisions whose contents are wanted, oldest first.
	Revisions []Revision
	// Packs have their contents.
	Packs []Pack
}

// Revision is a revision as far as its content is concerned.
type Revision struct {
	// Number of the revision, from 1 on. Numbers are not used again.
	Number int64
	// Chunks have the content, if an earlier version of clm has stored it, and it was not packed since.
	Chunks []string
}

// Pack is a group of contents that are stored one after the other, in the same chunks.
type Pack struct {
	// Chunks have the bytes of the pack, in this order.
	Chunks []string `json:"chunks"`
	// Frames are the contents, in the order in which the pack has them, also those that are not needed any more.
	Frames []Frame `json:"frames"`
}

// Frame is a compressed content.
type Frame struct {
	// Revision is the number of the revision that has or had the content.
	Revision int64 `json:"revision"`
	// Base is the number of the revision from whose content this one is stored as the difference; 0 if the frame has the whole content. The frame of a base
	// has its whole content.
	Base int64 `json:"base,omitempty"`
	// Bytes is the size of the frame.
	Bytes int `json:"bytes"`
}

// Layout says how contents are stored.
type Layout struct {
	// Whole is how large a frame with a whole content may be, in bytes, for which no base is looked for.
	Whole int
	// Small is from which size on a pack is not written again, in bytes. It does not count what is not needed any more.
	Small int
	// SmallPacks is how many packs may be smaller; if there are more, one takes their place.
	SmallPacks int
	// Chunk is how many bytes of a pack are in one chunk.
	Chunk int
}

// Standard is the layout of records. A chunk can hold a little more than 640 KiB.
var Standard = Layout{Whole: 8 << 10, Small: 128 << 10, SmallPacks: 4, Chunk: 640 << 10}

const (
	// worthwhile is how many times smaller than its base, and than the whole content if that is known, a difference must be: so that what was kept of earlier revisions can go when
	// these go.
	worthwhile = 4
	// surelyLarge is how many times larger than Layout.Whole a content must be for its frame to be expected to be larger than that.
	surelyLarge = 16
	// maxBases is how many bases are tried for a content.
	maxBases = 3
)

// unpacked returns the names of the chunks that have the content of a revision which is not in a pack.
func (c Catalog) unpacked(number int64) []string {
	for _, revision := range c.Revisions {
		if revision.Number == number {
			return revision.Chunks
		}
	}
	return nil
}

// place is where a frame is.
type place struct {
	Frame
	// pack has the frame.
	pack Pack
	// offset is where the frame begins in the pack, in bytes.
	offset int
}

// find returns the frame with the content of a revision; nil if there is none.
func (c Catalog) find(number int64) *place {
	for _, pack := range c.Packs {
		offset := 0
		for _, frame := range pack.Frames {
			if frame.Revision == number {
				return &place{Frame: frame, pack: pack, offset: offset}
			}
			offset += frame.Bytes
		}
	}
	return nil
}

// places returns the frames with the contents of all revisions, by number, as find does.
func (c Catalog) places() map[int64]*place {
	places := map[int64]*place{}
	for _, pack := range c.Packs {
		offset := 0
		for _, frame := range pack.Frames {
			if places[frame.Revision] == nil {
				places[frame.Revision] = &place{Frame: frame, pack: pack, offset: offset}
			}
			offset += frame.Bytes
		}
	}
	return places
}

// Keeps reports whether the content of a revision is stored.
func (c Catalog) Keeps(number int64) bool { return len(c.ChunksOf(number)) > 0 }

// ChunksOf returns the names of the chunks that are needed to read the content of a revision.
func (c Catalog) ChunksOf(number int64) []string {
	found := c.find(number)
	if found == nil {
		return c.unpacked(number)
	}
	names := slices.Clone(found.pack.Chunks)
	if base := c.find(found.Base); base != nil {
		names = append(names, base.pack.Chunks...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// needed returns the numbers of the revisions whose frames the revisions of the catalog need.
func (c Catalog) needed() map[int64]bool {
	needed, places := map[int64]bool{}, c.places()
	for _, revision := range c.Revisions {
		if found := places[revision.Number]; found != nil {
			needed[found.Revision] = true
			if found.Base != 0 {
				needed[found.Base] = true
			}
		}
	}
	return needed
}

// Check says what is wrong with a pack that was read; it names the field, from the pack on.
func (p Pack) Check() error {
	if len(p.Chunks) == 0 {
		return errors.New(".chunks: it is empty")
	}
	for i, frame := range p.Frames {
		if frame.Revision < 1 || frame.Base < 0 || frame.Bytes < 1 || frame.Bytes > deltas.MaxSize {
			return fmt.Errorf(".frames[%d]: revision %d, base %d, %d bytes; revisions must be at least 1, and bytes from 1 to %d",
				i, frame.Revision, frame.Base, frame.Bytes, deltas.MaxSize)
		}
	}
	return nil
}

// live returns how many bytes of a pack are needed.
func (p Pack) live(needed map[int64]bool) int {
	bytes := 0
	for _, frame := range p.Frames {
		if needed[frame.Revision] {
			bytes += frame.Bytes
		}
	}
	return bytes
}

// Using returns the catalog of the same revisions with those of the packs that these need. Revisions that are in packs need no other chunks.
func (c Catalog) Using(packs []Pack) Catalog {
	next := Catalog{Revisions: slices.Clone(c.Revisions), Packs: packs}
	needed := next.needed()
	next.Packs = slices.DeleteFunc(slices.Clone(packs), func(p Pack) bool { return p.live(needed) == 0 })
	for i := range next.Revisions {
		if needed[next.Revisions[i].Number] {
			next.Revisions[i].Chunks = nil
		}
	}
	return next
}

// bases returns the whole contents from which others may differ, the one that was used last first.
func (c Catalog) bases(minimum int) []Frame {
	var frames []Frame
	places, listed := c.places(), map[int64]bool{}
	for _, revision := range slices.Backward(c.Revisions) {
		found := places[revision.Number]
		if found != nil && found.Base != 0 {
			found = places[found.Base]
		}
		if found != nil && found.Base == 0 && found.Bytes > minimum && !listed[found.Revision] {
			frames, listed[found.Revision] = append(frames, found.Frame), true
		}
	}
	return frames
}
