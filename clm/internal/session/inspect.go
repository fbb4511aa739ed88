// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Inspection returns what is needed to look into a release with package inspect. Items are the dependents in question.
func (s *Session) Inspection(release *releases.Release, items []*reconciler.InventoryItem) inspect.Options {
	return inspect.Options{
		Client:   s.client,
		Items:    items,
		Analyzer: status.NewAnalyzer(releases.ReconcilerName, status.Options{Clock: s.options.Clock}),
		Selector: labels.SelectorFromSet(labels.Set{
			releases.ReconcilerName + "/" + types.LabelKeySuffixOwnerId: digest.OwnerLabel(releases.OwnerID(release.Namespace, release.Name)),
		}),
	}
}

// Unready finds out why dependents are not ready that an operation has waited for in vain. It returns nil if the error is no NotReadyError.
func (s *Session) Unready(ctx context.Context, release *releases.Release, err error) (*inspect.Report, error) {
	var items []*reconciler.InventoryItem
	for _, notice := range unready(err) {
		for _, item := range release.Inventory {
			if item.Matches(notice.Object) && len(items) < maxExplained {
				items = append(items, item)
			}
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	return inspect.Tree(ctx, s.Inspection(release, items))
}

// maxExplained bounds of how many dependents it is found out why they are not ready.
const maxExplained = 20
