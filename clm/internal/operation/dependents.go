// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// dependent is an object that a release renders, or has recorded.
type dependent struct {
	display.Object
	// rendered is where the object stands in the manifest of the current revision; negative if it does not.
	rendered int
	// item is the record of the object; nil if there is none.
	item *reconciler.InventoryItem
}

// dependentsOf returns the objects that are, or are to be, dependents of the release as it is; sorted.
func dependentsOf(mapper meta.RESTMapper, plan *Plan) ([]dependent, error) {
	found := map[display.Key]*dependent{}
	for _, item := range plan.Release.Inventory {
		found[display.KeyOf(item)] = &dependent{Object: display.ObjectOf(item), rendered: -1, item: item}
	}
	for i, object := range plan.Content.Manifest {
		if !plan.Applies(object) {
			continue
		}
		namespace, err := display.Namespace(mapper, object, plan.Release.Namespace)
		if err != nil {
			return nil, err
		}
		placed := display.ObjectOf(object)
		placed.Namespace = namespace
		if known := found[placed.Key()]; known != nil {
			known.rendered, known.Object = i, placed
			continue
		}
		found[placed.Key()] = &dependent{Object: placed, rendered: i}
	}
	list := make([]dependent, 0, len(found))
	for _, p := range found {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b dependent) int { return cmp.Compare(a.String(), b.String()) })
	return list, nil
}

// find returns where an object is in a list; negative if it is not.
func findHeld(list []dependent, object types.ObjectKey) int {
	return slices.IndexFunc(list, func(p dependent) bool { return display.KeyOf(p) == display.KeyOf(object) })
}

// leaveOut makes the revision of a plan one that does not have the objects. If it has none of them, it stays as it is.
func leaveOut(plan *Plan, list []dependent, description string) error {
	out := map[int]bool{}
	for _, object := range list {
		if object.rendered >= 0 {
			out[object.rendered] = true
		}
	}
	if len(out) == 0 {
		return nil
	}
	content := plan.Content
	content.Manifest = nil
	for i, object := range plan.Content.Manifest {
		if !out[i] {
			content.Manifest = append(content.Manifest, object)
		}
	}
	return plan.Derive(content, description)
}

// forget takes objects out of the inventory of a release that lets go of them. When that is recorded, they belong to
// others.
func forget(release *releases.Release, list []dependent) {
	release.Inventory = slices.DeleteFunc(release.Inventory, func(item *reconciler.InventoryItem) bool { return findHeld(list, item) >= 0 })
}

// shownObjects bounds how many objects a description names.
const shownObjects = 10

// objectTexts lists objects for people, not more than a few.
func objectTexts(list []dependent) string {
	texts := make([]string, len(list))
	for i, object := range list {
		texts[i] = object.String()
	}
	return display.Enumerate(texts, shownObjects)
}
