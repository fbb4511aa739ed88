// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectsets

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/types"
)

// Tree returns the objects of a set, and what they own. Those that belong to another owner, because they were handed
// over or never adopted, have the status Stolen, and nothing below them. An archived set has no objects.
func (f *Found) Tree(ctx context.Context, c cluster.Client, set v1alpha1.Set) (*live.Report, error) {
	if set.GetSetSpec().GetPresence() == component.PresenceArchived {
		return &live.Report{}, nil
	}
	options, err := f.Inspection(c, set)
	if err != nil {
		return nil, err
	}
	report, err := live.Tree(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, node := range report.Nodes {
		if node.Live == nil || f.owns(set, node.Live) {
			continue
		}
		node.Status, node.Message, node.Children, node.Why = display.StatusStolen, "has no owner, and was not adopted", nil, nil
		if owner := f.ownerOf(node.Live); owner != "" {
			node.Message = "belongs to " + owner
		}
	}
	return report, nil
}

// owns reports whether an object belongs to a set.
func (f *Found) owns(set v1alpha1.Set, object client.Object) bool {
	return f.ownerOf(object) == client.ObjectKeyFromObject(set).String() || set.GetNamespace() == "" && f.ownerOf(object) == set.GetName()
}

// ownerOf returns the namespace, if there is one, and the name of the set that an object belongs to; empty if it
// belongs to none.
func (f *Found) ownerOf(object client.Object) string {
	_, owner, _ := strings.Cut(object.GetAnnotations()[f.reconcilerName()+"/"+types.AnnotationKeySuffixOwnerId], "/")
	return owner
}
