// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
)

// Content reads the stored content of a revision. The error is a DamagedError if the content cannot be read because the record is
// damaged; it wraps ErrOutdated if the revision was removed since the release was read.
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

// read calls a function for the stored content of a revision. An error of the function means that the content is damaged. Other errors are those of
// Store.Content.
func read(ctx context.Context, s *Store, release *Release, number int64, decode func(raw []byte) error) error {
	names := release.stored.index.chunksOf(number)
	if len(names) == 0 {
		return fmt.Errorf("revision %d of release %s: its content is no longer available; available revisions: %s", number, release, release.stored.index.keptNumbers())
	}
	found, err := s.chunks(release.Namespace, release.Name).Read(ctx, names)
	if err != nil {
		return fmt.Errorf("reading revision %d of release %s: %w", number, release, err)
	}
	damage := strings.Join(found.Damage, "; ")
	if damage == "" {
		err := decode(bytes.Join(found.Contents, nil))
		if err == nil {
			return nil
		}
		damage = texts.Truncate(err.Error(), maxDamage)
	}
	// Another process may have removed the revision since the index was read.
	again, err := indexAgain(ctx, s.options.Client, release)
	switch {
	case err != nil:
		// It is not known whether the record is damaged.
		return fmt.Errorf("reading revision %d of release %s again, because %s: %w", number, release, damage, err)
	case again != nil && (again.stored.uid != release.stored.uid || len(again.stored.index.chunksOf(number)) == 0):
		return fmt.Errorf("reading revision %d of release %s: %w", number, release, ErrOutdated)
	}
	return &DamagedError{Release: release.String(), Part: fmt.Sprintf("revision %d", number), Damage: damage, Revision: number}
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

// chunksOf returns the names of the chunks with the content of a revision; none if the content is not stored.
func (i *index) chunksOf(number int64) []string {
	for _, revision := range i.Revisions {
		if revision.Number == number {
			return revision.Chunks
		}
	}
	return nil
}

// keptNumbers lists the revisions whose contents are stored.
func (i *index) keptNumbers() string {
	var texts []string
	for _, revision := range i.Revisions {
		if len(revision.Chunks) > 0 {
			texts = append(texts, fmt.Sprint(revision.Number))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}
