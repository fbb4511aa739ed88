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

// spare has dependents stay that were there before a plan was carried out which has failed, although what comes next does not want them: the
// plan has adopted them. If the release had never been ready, they include all that are older than its record, which earlier
// attempts may have adopted. It returns them as texts.
func (s *Session) spare(ctx context.Context, release *releases.Release, failed *Plan) ([]string, error) {
	if failed == nil {
		return nil, nil
	}
	var spared []string
	for _, item := range release.Inventory {
		text := objectText(item)
		old := failed.adopted[text]
		if !old && release.LastReady() == nil {
			var err error
			if old, err = s.isOlder(ctx, item, release.RecordedAt()); err != nil {
				return nil, err
			}
		}
		if old {
			item.DeletePolicy = reconciler.DeletePolicyOrphan
			spared = append(spared, text)
		}
	}
	slices.Sort(spared)
	return spared, nil
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

// adopts notes what a call of the engine has adopted.
func (p *Plan) adopts(actions []reconciler.Action) {
	for _, action := range actions {
		if action.Verb != reconciler.VerbAdopted {
			continue
		}
		for _, object := range action.Objects {
			if p.adopted == nil {
				p.adopted = map[string]bool{}
			}
			p.adopted[objectText(object)] = true
		}
	}
}

// sparedText says what stays.
func sparedText(spared []string) string {
	if len(spared) == 0 {
		return ""
	}
	return "These were there before, and stay, with what the failed revision has changed in them: " + strings.Join(spared, ", ")
}
