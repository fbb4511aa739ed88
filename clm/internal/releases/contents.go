// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/packs"
)

// Content reads the stored content of a revision. It may be stored in another place since the release was read. The error is a DamagedError if the content
// cannot be read because the record is damaged; it wraps ErrOutdated if the revision was removed since.
func (s *Store) Content(ctx context.Context, release *Release, number int64) (content Content, err error) {
	err = read(ctx, s, release, number, func(raw []byte) error {
		content, err = decodeContent(raw)
		return err
	})
	return content, err
}

// Objects reads those objects of the manifest of a revision whose JSON a function wants, which needs less memory than reading all of them. Errors are those of Store.Content.
func Objects(ctx context.Context, s *Store, release *Release, number int64, wants func(raw []byte) bool) (objects []*unstructured.Unstructured, err error) {
	err = read(ctx, s, release, number, func(raw []byte) error {
		objects, err = decodeObjects(raw, wants)
		return err
	})
	return objects, err
}

// read calls a function for the stored content of a revision, and again if it cannot be decoded and was stored in another place meanwhile. The rest is as with Content.
func read(ctx context.Context, s *Store, release *Release, number int64, decode func(raw []byte) error) error {
	if catalog := release.stored.index.catalog(); !catalog.Keeps(number) {
		return fmt.Errorf("revision %d of release %s: its content is no longer available; available revisions: %s", number, release, keptNumbers(catalog))
	}
	seen, store := release, s.chunks(release.Namespace, release.Name)
	for attempt := 1; ; attempt++ {
		raw, err := packs.NewArchive(store, seen.stored.index.catalog()).Read(ctx, number)
		if err == nil {
			err = decode(raw)
		}
		var damaged *packs.UnreadableError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &damaged):
			return fmt.Errorf("reading revision %d of release %s: %w", number, release, err)
		}
		failure := &DamagedError{Release: release.String(), Part: fmt.Sprintf("revision %d", number), Damage: damaged.Damage, Revision: number}
		// Another process may have stored it together with others, and removed the chunks that had it before.
		again, err := indexAgain(ctx, s.options.Client, release)
		switch {
		case err != nil:
			// It is not known whether the record is damaged.
			return fmt.Errorf("reading revision %d of release %s again, because %s: %w", number, release, damaged.Damage, err)
		case again == nil || again.SameRecord(seen) || attempt == maxReads:
			return failure
		}
		if again.stored.uid != release.stored.uid || !again.stored.index.catalog().Keeps(number) {
			return fmt.Errorf("reading revision %d of release %s: %w", number, release, ErrOutdated)
		}
		seen = again
	}
}

// indexAgain reads the index of a release once more; nil if it is gone or damaged.
func indexAgain(ctx context.Context, reader client.Reader, release *Release) (*Release, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: prefix + release.Name}, secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	again, err := decodeSecret(secret)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return nil, nil
	}
	return again, err
}

// keptNumbers lists the revisions whose contents are stored.
func keptNumbers(catalog packs.Catalog) string {
	var texts []string
	for _, revision := range catalog.Revisions {
		if catalog.Keeps(revision.Number) {
			texts = append(texts, fmt.Sprint(revision.Number))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}
