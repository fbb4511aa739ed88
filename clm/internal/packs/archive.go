// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/deltas"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/ellipsis"
)

// UnreadableError says why a content cannot be read: because the record is damaged. Any other failure to read it says nothing about the record.
type UnreadableError struct {
	// Damage says what is wrong with which object.
	Damage string
}

// maxDamage is how long the text about a content may be, in bytes: it may name what somebody else has written.
const maxDamage = 600

// Error is the damage.
func (e *UnreadableError) Error() string { return e.Damage }

// Archive reads the contents of a catalog, and each chunk only once. It is not safe for concurrent use.
type Archive struct {
	chunks  *chunks.Store
	catalog Catalog
	// intact are the contents of chunks that were read, by name.
	intact map[string][]byte
	// raws are the contents that were read or are to be stored, by the number of their revision.
	raws map[int64][]byte
}

// NewArchive returns the archive of a catalog. It makes no request.
func NewArchive(store *chunks.Store, catalog Catalog) *Archive {
	return &Archive{chunks: store, catalog: catalog, intact: map[string][]byte{}, raws: map[int64][]byte{}}
}

// unpacked returns the document of a content that an earlier version of clm has stored.
func (a *Archive) unpacked(ctx context.Context, number int64) ([]byte, error) {
	names := a.catalog.unpacked(number)
	if err := a.load(ctx, names); err != nil {
		return nil, err
	}
	contents := make([][]byte, len(names))
	for i, name := range names {
		contents[i] = a.intact[name]
	}
	document, err := joinDocument(contents)
	if err != nil {
		return nil, &UnreadableError{Damage: ellipsis.Truncate(err.Error(), maxDamage)}
	}
	return document, nil
}

// Read returns the content of a revision. The error is an UnreadableError if it is damaged; any other error says nothing about it.
func (a *Archive) Read(ctx context.Context, number int64) ([]byte, error) {
	if raw, known := a.raws[number]; known {
		return raw, nil
	}
	found := a.catalog.find(number)
	if found == nil {
		return a.unpacked(ctx, number)
	}
	// At the same time as what the base is in.
	if err := a.load(ctx, a.catalog.ChunksOf(number)); err != nil {
		return nil, err
	}
	var base []byte
	if found.Base != 0 {
		if basis := a.catalog.find(found.Base); basis == nil || basis.Base != 0 {
			return nil, &UnreadableError{Damage: fmt.Sprintf("revision %d, from which it differs, is not stored whole", found.Base)}
		}
		var err error
		if base, err = a.Read(ctx, found.Base); err != nil {
			return nil, err
		}
	}
	data, err := a.bytesAt(ctx, found)
	if err != nil {
		return nil, err
	}
	raw, err := deltas.Decode(data, base)
	if err != nil {
		return nil, &UnreadableError{Damage: err.Error()}
	}
	if found.Base == 0 {
		a.raws[number] = raw
	}
	return raw, nil
}

// bytesAt returns the bytes of a frame.
func (a *Archive) bytesAt(ctx context.Context, at *place) ([]byte, error) {
	if err := a.load(ctx, at.pack.Chunks); err != nil {
		return nil, err
	}
	var parts [][]byte
	for _, name := range at.pack.Chunks {
		parts = append(parts, a.intact[name])
	}
	data := bytes.Join(parts, nil)
	if at.offset < 0 || at.offset > len(data) || at.Bytes > len(data)-at.offset {
		return nil, &UnreadableError{Damage: fmt.Sprintf("revision %d has %d bytes from byte %d of %d", at.Revision, at.Bytes, at.offset, len(data))}
	}
	return data[at.offset:][:at.Bytes], nil
}

// load reads those of the chunks that were not read yet. The error is an UnreadableError if some of them are missing or damaged.
func (a *Archive) load(ctx context.Context, names []string) error {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return a.intact[name] != nil })
	if len(missing) == 0 {
		return nil
	}
	found, err := a.chunks.Read(ctx, missing)
	if err != nil {
		return err
	}
	read := 0
	for _, name := range missing {
		if _, intact := found.Intact[name]; intact {
			a.intact[name] = found.Contents[read]
			read++
		}
	}
	if len(found.Damage) > 0 {
		return &UnreadableError{Damage: strings.Join(found.Damage, "; ")}
	}
	return nil
}
