// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// spareOlder has those dependents stay of a release that was never ready which are older than its record: an earlier clm may have adopted them,
// which has not recorded that.
func spareOlder(ctx context.Context, clnt client.Reader, release *releases.Release) ([]string, error) {
	if release.LastReady() != nil {
		return nil, nil
	}
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted {
			continue
		}
		older, err := isOlder(ctx, clnt, item, release)
		if err != nil {
			return nil, err
		}
		if older {
			spared = append(spared, Spare(item))
		}
	}
	return spared, nil
}

// isOlder reports whether a dependent was created before the record of the release. One of another owner, of which the release has changed nothing, stays anyway.
func isOlder(ctx context.Context, clnt client.Reader, item *reconciler.InventoryItem, release *releases.Release) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	switch {
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("determining the age of %s: %w", dependents.Text(item), err)
	}
	mark, recorded := releases.OwnerOf(object), release.RecordedAt()
	return (mark.IsMissing() || mark.Is(releases.OwnerID(release.Namespace, release.Name))) && object.CreationTimestamp.Before(&recorded), nil
}
