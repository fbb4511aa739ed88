// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package behaviors

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attached is an object with behaviors.
type attached struct {
	client.Object

	behaviors []any
}

// DeepCopyObject copies the object. The copy has the same behaviors.
func (a *attached) DeepCopyObject() runtime.Object {
	copied, ok := a.Object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	return &attached{Object: copied, behaviors: a.behaviors}
}

// Attach returns the object with behaviors, in addition to those that it has. It does not change or copy the object. If
// several behaviors implement the same interface, the last one counts. The reconciler refuses objects with a value that
// implements no interface of this package.
func Attach(object client.Object, behaviors ...any) client.Object {
	if len(behaviors) == 0 {
		return object
	}
	if before, ok := object.(*attached); ok {
		return &attached{Object: before.Object, behaviors: slices.Concat(before.behaviors, behaviors)}
	}
	return &attached{Object: object, behaviors: slices.Clone(behaviors)}
}

// Of returns the behavior of an object that implements the interface B; found is false if there is none.
func Of[B any](object client.Object) (behavior B, found bool) {
	a, ok := object.(*attached)
	if !ok {
		return behavior, false
	}
	for _, candidate := range slices.Backward(a.behaviors) {
		if behavior, ok := candidate.(B); ok {
			return behavior, true
		}
	}
	return behavior, false
}

// Bare returns the object without behaviors.
func Bare(object client.Object) client.Object {
	if a, ok := object.(*attached); ok {
		return a.Object
	}
	return object
}

// Carry returns the object to with all behaviors of the object from, instead of its own.
func Carry(from, to client.Object) client.Object {
	if a, ok := from.(*attached); ok {
		return &attached{Object: Bare(to), behaviors: a.behaviors}
	}
	return Bare(to)
}

// Names returns the names of the interfaces of this package that the behaviors of an object implement, sorted; empty if
// it has none.
func Names(object client.Object) []string {
	a, ok := object.(*attached)
	if !ok {
		return nil
	}
	var names []string
	for _, behavior := range a.behaviors {
		names = append(names, namesOf(behavior)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unknown returns the Go types of the values attached to an object that implement no interface of this package; empty
// if there are none.
func Unknown(object client.Object) []string {
	a, ok := object.(*attached)
	if !ok {
		return nil
	}
	var unknown []string
	for _, behavior := range a.behaviors {
		if len(namesOf(behavior)) == 0 {
			unknown = append(unknown, fmt.Sprintf("%T", behavior))
		}
	}
	return unknown
}

func namesOf(behavior any) []string {
	var names []string
	note := func(name string, implements bool) {
		if implements {
			names = append(names, name)
		}
	}
	note("Stepped", implements[Stepped](behavior))
	note("Guarded", implements[Guarded](behavior))
	note("Extracting", implements[Extracting](behavior))
	note("Reading", implements[Reading](behavior))
	note("Late", implements[Late](behavior))
	note("Awaited", implements[Awaited](behavior))
	note("Ordered", implements[Ordered](behavior))
	note("Graceful", implements[Graceful](behavior))
	note("Resetting", implements[Resetting](behavior))
	note("Suspending", implements[Suspending](behavior))
	note("Judged", implements[Judged](behavior))
	return names
}

func implements[B any](behavior any) bool {
	_, ok := behavior.(B)
	return ok
}
