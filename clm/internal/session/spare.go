// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// spareAdopted has those dependents stay that were there before the release has adopted them, although what comes next does not want them: an earlier
// revision, or what was before the release. It returns them as texts.
func spareAdopted(release *releases.Release, wanted map[key]bool) []string {
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted && !wanted[keyOf(item)] {
			spared = append(spared, spareItem(item))
		}
	}
	slices.Sort(spared)
	return spared
}

func spareItem(item *reconciler.InventoryItem) string {
	item.DeletePolicy = reconciler.DeletePolicyOrphan
	return objectText(item)
}

// spareOlder does so with dependents of a release that was never ready which are older than its record: an earlier clm may have adopted them,
// which has not recorded that.
func (s *Session) spareOlder(ctx context.Context, release *releases.Release) ([]string, error) {
	if release.LastReady() != nil {
		return nil, nil
	}
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted {
			continue
		}
		older, err := s.isOlder(ctx, item, release.RecordedAt())
		if err != nil {
			return nil, err
		}
		if older {
			spared = append(spared, spareItem(item))
		}
	}
	return spared, nil
}

// confirmLast refuses to undo what a plan has done if somebody else has worked on the release since: what he has done would be undone with it.
func (p *Plan) confirmLast(release *releases.Release) error {
	if p == nil || p.Release.SameRecord(release) {
		return nil
	}
	return refused("somebody else has changed release %s since revision %d has failed; nothing is reverted", release, p.Revision.Number)
}

// isOlder tells whether a dependent was created before that time.
func (s *Session) isOlder(ctx context.Context, item *reconciler.InventoryItem, than metav1.Time) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := s.client.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	switch {
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking how old %s is: %w", objectText(item), err)
	}
	return object.CreationTimestamp.Before(&than), nil
}

// sparedText says what stays.
func sparedText(spared []string) string {
	if len(spared) == 0 {
		return ""
	}
	return "These were there before, and stay, with what the release has changed in them: " + strings.Join(spared, ", ")
}
