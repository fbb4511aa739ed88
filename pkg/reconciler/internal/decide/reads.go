// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
)

// Recollect returns an object that the owner has read without owning it, if that was the given version of it; else nil.
func (o OwnerMemory) Recollect(name observe.Name, version string) *unstructured.Unstructured {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if object := o.all.read[o.owner][name]; object != nil && object.GetResourceVersion() == version {
		return object
	}
	return nil
}

// Recollects remembers an object that the owner has read without owning it.
func (o OwnerMemory) Recollects(name observe.Name, object *unstructured.Unstructured) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.all.read[o.owner] == nil {
		o.all.read[o.owner] = map[observe.Name]*unstructured.Unstructured{}
	}
	o.all.read[o.owner][name] = object
}

// Disregard forgets all objects that the owner has read without owning them, except these.
func (o OwnerMemory) Disregard(except []observe.Name) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	kept := make(map[observe.Name]bool, len(except))
	for _, name := range except {
		kept[name] = true
	}
	maps.DeleteFunc(o.all.read[o.owner], func(name observe.Name, _ *unstructured.Unstructured) bool { return !kept[name] })
	if len(o.all.read[o.owner]) == 0 {
		delete(o.all.read, o.owner)
	}
}
