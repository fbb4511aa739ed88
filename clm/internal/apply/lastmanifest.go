// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// lastManifest is the manifest of the current revision of a release, which is read once, and only if somebody needs it. It is not safe for concurrent use.
type lastManifest struct {
	records *releases.Store
	release *releases.Release

	known   bool
	objects []*unstructured.Unstructured
	// damage says why there are no objects although there is a revision; nil if it can be read.
	damage *releases.DamagedError
	// since is what sinceReady returns; nil if it was not called.
	since [][]*unstructured.Unstructured
}

// read returns the objects; none if there is no such revision, or if the part of the record is lost that has them: nothing could bring that back, and it must not keep the
// release from getting a new revision. The caller must not change them.
func (m *lastManifest) read(ctx context.Context) ([]*unstructured.Unstructured, error) {
	current := m.release.Current()
	if current == nil || m.known {
		return m.objects, nil
	}
	content, err := m.records.Content(ctx, m.release, current.Number)
	if err != nil && !errors.As(err, &m.damage) {
		return nil, err
	}
	m.known, m.objects = true, content.Manifest
	return m.objects, nil
}

// readForFields is read for the fields that are left to others: without the objects, these would be taken from them. Then the error is a RefusedError.
func (m *lastManifest) readForFields(ctx context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := m.read(ctx)
	if err == nil && m.damage != nil {
		err = m.unknown(m.damage)
	}
	return objects, err
}

// unknown returns the RefusedError for fields that must be neither taken nor left alone, for a reason.
func (m *lastManifest) unknown(reason error) error {
	return failures.Refused("which fields release %s leaves to other field managers is not known: %v; to take all declared fields from them: --conflicts=force", m.release, reason)
}

// sinceReady returns the manifests of the last revision that was ready, and of each recorded one since, the current one first; an empty one for the former if there is none. Any of
// them may be the one with which an object was written last: of a revision that is not ready, it is not certain which objects were. It reads them once. The error is a RefusedError
// if one of them is lost.
func (m *lastManifest) sinceReady(ctx context.Context, c *connection.Connection) ([][]*unstructured.Unstructured, error) {
	if m.since != nil {
		return m.since, nil
	}
	current, err := m.readForFields(ctx)
	if err != nil {
		return nil, err
	}
	since := [][]*unstructured.Unstructured{current}
	ready, err := becameReady(ctx, c, m.release)
	if err != nil {
		return nil, err
	}
	for i := len(m.release.Revisions) - 2; !ready && i >= 0; i-- {
		revision := m.release.Revisions[i]
		content, err := m.records.Content(ctx, m.release, revision.Number)
		var damage *releases.DamagedError
		switch {
		case errors.As(err, &damage):
			return nil, m.unknown(damage)
		case err != nil:
			return nil, err
		}
		since, ready = append(since, content.Manifest), revision.State == releases.RevisionSuperseded || revision.State == releases.RevisionReady
	}
	if !ready {
		since = append(since, nil)
	}
	m.since = since
	return since, nil
}
