// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// lastManifest is the manifest of the current revision of a release, which is read once, and only if it is needed.
// It is not safe for concurrent use.
type lastManifest struct {
	connection *connection.Connection
	release    *releases.Release
	// isLost says that the release has dependents, but no revisions, because its record was lost and rebuilt.
	isLost bool

	known   bool
	objects []*unstructured.Unstructured
	values  map[string]any
	// damage says why there are no objects although there is a revision; nil if it can be read.
	damage *releases.DamagedError
	// marked is what kept returns; nil if it was not called.
	marked KeptFields
	// since is what sinceReady returns; nil if it was not called.
	since [][]*unstructured.Unstructured
}

func newLastManifest(c *connection.Connection, release *releases.Release) *lastManifest {
	return &lastManifest{connection: c, release: release, isLost: release.Recorded() && release.Current() == nil && len(release.Inventory) > 0}
}

// read returns the objects; none if there is no such revision, or if the part of the record is lost that has them:
// nothing could bring that back, and it must not keep the release from getting a new revision. The caller must not
// change them.
func (m *lastManifest) read(ctx context.Context) ([]*unstructured.Unstructured, error) {
	current := m.release.Current()
	if current == nil || m.known {
		return m.objects, nil
	}
	content, err := m.connection.Records().Content(ctx, m.release, current.Number)
	if err != nil && !errors.As(err, &m.damage) {
		return nil, err
	}
	m.known, m.objects, m.values = true, content.Manifest, content.Values
	return m.objects, nil
}

// isRead reports whether the objects were read, and are not lost.
func (m *lastManifest) isRead() bool { return m.known && m.damage == nil }

// readForFields is read for the fields that are left to others: without the objects, these would be taken from them.
// Then the error is a RefusedError.
func (m *lastManifest) readForFields(ctx context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := m.read(ctx)
	if err == nil && m.damage != nil {
		err = m.unknown(m.damage)
	}
	return objects, err
}

// unknown returns the RefusedError for fields that must be neither taken nor left alone, for a reason.
func (m *lastManifest) unknown(reason error) error {
	return releases.Refused("which fields release %s leaves to other field managers is not known: %v; to take all declared fields from them: --conflicts=force", m.release, reason)
}

// parallelReads is how many objects kept reads at the same time.
const parallelReads = 8

// kept returns the fields that the annotations of recorded dependents in the cluster list as left to others, of those
// dependents that are among some objects. It reads them once.
func (m *lastManifest) kept(ctx context.Context, rules KeptFieldsRules, objects []*unstructured.Unstructured) (KeptFields, error) {
	if m.marked != nil {
		return m.marked, nil
	}
	recorded := map[display.Key]*reconciler.InventoryItem{}
	for _, item := range m.release.Inventory {
		recorded[rules.KeyOf(item)] = item
	}
	live := make([]*unstructured.Unstructured, len(objects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, object := range objects {
		item := recorded[rules.KeyOf(object)]
		if item == nil {
			continue
		}
		group.Go(func() error {
			found := &metav1.PartialObjectMetadata{}
			found.SetGroupVersionKind(item.GroupVersionKind())
			err := m.connection.Client().Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, found)
			if apierrors.IsNotFound(err) || cluster.IsNoMatch(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("reading which fields of %s are left to other field managers: %w", display.Text(item), err)
			}
			live[i] = object.DeepCopy()
			live[i].SetAnnotations(found.Annotations)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	m.marked = rules.Kept(slices.DeleteFunc(live, func(object *unstructured.Unstructured) bool { return object == nil }))
	return m.marked, nil
}

// sinceReady returns the manifests of the last revision that was ready, and of each recorded one since, the current one
// first; those of all revisions if none was ready. Any of them may be the one with which an object was written last: of
// a revision that is not ready, it is not certain which objects were. It reads them once. The error is a RefusedError
// if one of them is lost.
func (m *lastManifest) sinceReady(ctx context.Context) ([][]*unstructured.Unstructured, error) {
	if m.since != nil {
		return m.since, nil
	}
	current, err := m.readForFields(ctx)
	if err != nil {
		return nil, err
	}
	since := [][]*unstructured.Unstructured{current}
	ready, err := becameReady(ctx, m.connection, m.release)
	if err != nil {
		return nil, err
	}
	for i := len(m.release.Revisions) - 2; !ready && i >= 0; i-- {
		revision := m.release.Revisions[i]
		content, err := m.connection.Records().Content(ctx, m.release, revision.Number)
		var damage *releases.DamagedError
		switch {
		case errors.As(err, &damage):
			return nil, m.unknown(damage)
		case err != nil:
			return nil, err
		}
		since, ready = append(since, content.Manifest), revision.State == releases.RevisionSuperseded || revision.State == releases.RevisionReady
	}
	m.since = since
	return since, nil
}
