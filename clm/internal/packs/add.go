// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/component-operator/runtime/clm/internal/deltas"
)

// Addition is where contents are after one was added.
type Addition struct {
	// Packs are all that the next catalog may use.
	Packs []Pack
	// Contents of the chunks that may be missing.
	Contents [][]byte
}

// Content is a content that is to be stored.
type Content struct {
	raw []byte
	// whole is the frame with all of it; nil if it was not compressed yet.
	whole []byte
}

// ContentOf returns a content, which must not be changed any more.
func ContentOf(raw []byte) Content { return Content{raw: raw} }

// Compressed returns a content that Add need not compress if there is nothing from which it differs. It takes a while if the content is large, and makes no requests. The error
// is deltas.ErrTooLarge if it cannot be stored.
func (c Content) Compressed() (Content, error) {
	if c.whole != nil {
		return c, nil
	}
	var err error
	c.whole, err = deltas.Encode(c.raw, nil)
	return c, err
}

// packing stores contents in packs.
type packing struct {
	*Archive
	layout Layout
	// next is the catalog that is to be recorded.
	next Catalog
	// bases are the whole contents from which others may differ, the one to be tried first at the beginning.
	bases []Frame
	// frames are to be stored.
	frames []packedFrame
}

// packedFrame is a frame with its bytes.
type packedFrame struct {
	Frame
	data []byte
}

// Add returns how the content of a further revision is stored. The next catalog has that revision, the last one, and those that are kept of the archive. Contents in the form of
// earlier versions of clm are packed at the same time. What cannot be read, or is too large for that, stays as it is.
func (a *Archive) Add(ctx context.Context, layout Layout, next Catalog, content Content) (Addition, error) {
	p := &packing{Archive: a, layout: layout, next: next, bases: next.bases(layout.Whole)}
	if err := p.add(ctx, next.Revisions[len(next.Revisions)-1].Number, content); err != nil {
		return Addition{}, err
	}
	for _, revision := range slices.Backward(next.Revisions) {
		if len(revision.Chunks) == 0 {
			continue
		}
		raw, err := a.Read(ctx, revision.Number)
		if err == nil {
			err = p.add(ctx, revision.Number, ContentOf(raw))
		}
		if err != nil && !isUnreadable(err) && !errors.Is(err, deltas.ErrTooLarge) {
			return Addition{}, err
		}
	}
	return p.pack(ctx)
}

func isUnreadable(err error) bool {
	var unreadable *UnreadableError
	return errors.As(err, &unreadable)
}

// add adds a frame: the difference from a base if that is worthwhile, or else the whole content, which then is a base for others. Compressing a large content as a whole takes
// memory and time, so that is done only if it must be.
func (p *packing) add(ctx context.Context, number int64, content Content) (err error) {
	if len(content.raw) <= surelyLarge*p.layout.Whole {
		if content, err = content.Compressed(); err != nil {
			return err
		}
		if len(content.whole) <= p.layout.Whole {
			p.addWhole(number, content)
			return nil
		}
	}
	if done, err := p.addDifference(ctx, number, &content); done || err != nil {
		return err
	}
	if content, err = content.Compressed(); err != nil {
		return err
	}
	p.bases, p.raws[number] = append([]Frame{p.addWhole(number, content)}, p.bases...), content.raw
	return nil
}

// addWhole adds the frame of a compressed content.
func (p *packing) addWhole(number int64, content Content) Frame {
	frame := Frame{Revision: number, Bytes: len(content.whole)}
	p.frames = append(p.frames, packedFrame{frame, content.whole})
	return frame
}

// addDifference adds the difference from a base, if there is one from which the content differs little. It may compress the content.
func (p *packing) addDifference(ctx context.Context, number int64, content *Content) (done bool, err error) {
	for _, base := range p.bases[:min(len(p.bases), maxBases)] {
		raw, err := p.Read(ctx, base.Revision)
		if isUnreadable(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		limit := base.Bytes
		if len(content.raw) < len(raw)/2 {
			// Much smaller contents must not keep the base of the large ones.
			if *content, err = content.Compressed(); err != nil {
				return false, err
			}
		}
		if content.whole != nil {
			limit = min(limit, len(content.whole))
		}
		delta, err := deltas.Encode(content.raw, raw)
		if err == nil && len(delta) <= limit/worthwhile {
			p.frames = append(p.frames, packedFrame{Frame{Revision: number, Base: base.Revision, Bytes: len(delta)}, delta})
			return true, nil
		}
		if err != nil && !errors.Is(err, deltas.ErrTooLarge) {
			return false, err
		}
	}
	return false, nil
}

// pack distributes the new frames: each large one has a pack of its own, all others are in one. If there are too many small packs, this one takes their place.
func (p *packing) pack(ctx context.Context) (Addition, error) {
	isSmall := func(frame packedFrame) bool { return frame.Bytes < p.layout.Small }
	kept, merged, err := p.merge(ctx, slices.ContainsFunc(p.frames, isSmall))
	if err != nil {
		return Addition{}, err
	}
	result := Addition{Packs: slices.Clone(kept)}
	for _, frame := range p.frames {
		if isSmall(frame) {
			merged = append(merged, frame)
			continue
		}
		p.append(&result, []packedFrame{frame})
	}
	p.append(&result, merged)
	return result, nil
}

// merge returns the packs that stay, and the frames of the others: of all small packs, if there are too many of them with the one that is added.
func (p *packing) merge(ctx context.Context, added bool) (kept []Pack, merged []packedFrame, err error) {
	needed := p.next.needed()
	isSmall := func(pack Pack) bool { return pack.live(needed) < p.layout.Small }
	count := 0
	var names []string
	for _, pack := range p.next.Packs {
		if isSmall(pack) {
			count++
			names = append(names, pack.Chunks...)
		}
	}
	if added {
		count++
	}
	if count <= p.layout.SmallPacks {
		return p.next.Packs, nil, nil
	}
	// What cannot be read is noticed below.
	if err := p.load(ctx, names); err != nil && !isUnreadable(err) {
		return nil, nil, err
	}
	for _, pack := range p.next.Packs {
		if !isSmall(pack) {
			kept = append(kept, pack)
			continue
		}
		frames, err := p.framesOf(ctx, pack, needed)
		switch {
		case isUnreadable(err):
			kept = append(kept, pack)
		case err != nil:
			return nil, nil, err
		default:
			merged = append(merged, frames...)
		}
	}
	return kept, merged, nil
}

// framesOf returns those frames of a pack that are needed.
func (p *packing) framesOf(ctx context.Context, in Pack, needed map[int64]bool) ([]packedFrame, error) {
	var frames []packedFrame
	offset := 0
	for _, frame := range in.Frames {
		at := &place{Frame: frame, pack: in, offset: offset}
		offset += frame.Bytes
		if !needed[frame.Revision] {
			continue
		}
		data, err := p.bytesAt(ctx, at)
		if err != nil {
			return nil, err
		}
		frames = append(frames, packedFrame{frame, data})
	}
	return frames, nil
}

// append adds a pack with frames, if there are any.
func (p *packing) append(result *Addition, frames []packedFrame) {
	if len(frames) == 0 {
		return
	}
	slices.SortFunc(frames, func(a, b packedFrame) int { return cmp.Compare(a.Revision, b.Revision) })
	added, data := Pack{}, bytes.Buffer{}
	for _, frame := range frames {
		added.Frames = append(added.Frames, frame.Frame)
		_, _ = data.Write(frame.data)
	}
	for content := range slices.Chunk(data.Bytes(), p.layout.Chunk) {
		added.Chunks = append(added.Chunks, p.chunks.Name(content))
		result.Contents = append(result.Contents, content)
	}
	result.Packs = append(result.Packs, added)
}
