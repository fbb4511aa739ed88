// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// digestInherited is the digest of completed objects of a former manager. The engine treats them as completed, whatever
// their manifests are.
const digestInherited = "inherited"

// inherit finds out what a former manager has installed, as long as the component has never been ready. The component
// continues with the revision of the former manager, so that its manifests stay as they are.
func (p *pass) inherit(ctx context.Context) outcomes.Outcome {
	isElsewhere := p.declared.Lost != "" || p.destination.IsRemote() || hasForeignTarget(p.component)
	if p.worker.options.Inherit == nil || p.status.LastAppliedAt != nil || isElsewhere {
		return outcomes.Proceed
	}
	owner, ok := p.component.DeepCopyObject().(client.Object)
	if !ok {
		return outcomes.Of(fmt.Errorf("copying the component: a copy of a %T is not an object", p.component))
	}
	owner.GetObjectKind().SetGroupVersionKind(p.worker.resource.Kind)
	found, err := p.worker.options.Inherit(ctx, p.worker.local, owner, p.settings.namespace, p.settings.name)
	switch {
	case err != nil:
		return outcomes.Of(fmt.Errorf("finding what a former manager has installed: %w", err))
	case found == nil:
		return outcomes.Proceed
	case p.deleting:
		return outcomes.Retry(found.Text+" was not taken over before the deletion; to delete its objects, uninstall it; "+
			"to let them stay, remove their owner references to this object first, and delete the record of the release after that", outcomes.MissingDelay)
	case p.settings.presence == PresenceSuspended, p.settings.presence == PresenceArchived:
		return outcomes.Retry(fmt.Sprintf("%s is taken over when spec.presence is %s", found.Text, PresenceActive), outcomes.MissingDelay)
	}
	p.inherited = found
	if p.status.Revision == 0 {
		p.status.Revision = found.Revision - 1
		p.status.InstalledRevision = max(p.status.Revision, 1)
	}
	if last := p.status.LastProcessingDigest; last == "" || last == p.declared.Digest.Value {
		p.noteCompleted(found.Completed)
	}
	return outcomes.Proceed
}

// noteCompleted adds objects that have completed to the inventory.
func (p *pass) noteCompleted(objects []types.ObjectKey) {
	for _, object := range objects {
		if contains(p.status.Inventory, object) {
			continue
		}
		item := &reconciler.InventoryItem{Phase: reconciler.PhaseCompleted, Digest: digestInherited}
		item.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		item.NameInfo = inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()}
		p.status.Inventory = append(p.status.Inventory, item)
	}
}

func contains(items []*reconciler.InventoryItem, object types.ObjectKey) bool {
	return slices.ContainsFunc(items, func(item *reconciler.InventoryItem) bool { return item.Matches(object) })
}

// undeclared returns the objects of a former manager that are not among the dependents, as an outcome that names them.
// Nobody would delete them, once the former manager does not know them any more.
func (p *pass) undeclared(isDependent func(object types.ObjectKey) bool) outcomes.Outcome {
	if p.inherited == nil {
		return outcomes.Proceed
	}
	var left []string
	for _, object := range p.inherited.Objects {
		if !isDependent(object) {
			left = append(left, outcomes.Name(object))
		}
	}
	if len(left) == 0 {
		return outcomes.Proceed
	}
	return outcomes.Retry(fmt.Sprintf("%s has objects that are not declared any more: %s; delete them, or declare them",
		p.inherited.Text, outcomes.Join(left, ", ")), outcomes.MissingDelay)
}

// retire ends the management by a former manager.
func (p *pass) retire(ctx context.Context) outcomes.Outcome {
	if p.inherited == nil {
		return outcomes.Proceed
	}
	if o := p.undeclared(func(object types.ObjectKey) bool { return contains(p.status.Inventory, object) }); o.Kind != outcomes.Continue {
		return o
	}
	if err := p.inherited.Retire(ctx); err != nil {
		return outcomes.Of(fmt.Errorf("retiring %s: %w", p.inherited.Text, err))
	}
	return outcomes.Proceed
}
