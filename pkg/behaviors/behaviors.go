// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package behaviors attaches behaviors to generated objects: Go code that the reconciler calls when the turn of the
// object comes.
//
// A behavior is a value that implements some of the interfaces of this package. [Attach] attaches it to an object, and
// a generator returns the result like any other object:
//
//	database := &corev1.Secret{...}  // a controller fills it
//	client := &corev1.ConfigMap{...} // needs the host that is in the Secret
//	var host string
//	return []client.Object{
//		behaviors.Attach(database, behaviors.Extract(func(secret *unstructured.Unstructured) error { host = ...; return nil })),
//		behaviors.Attach(client, behaviors.AtStep(1), behaviors.Complete(func(manifest *unstructured.Unstructured) error { ... })),
//	}, nil
//
// # Steps
//
// The objects of one wave are applied in steps (see [Stepped]). A step begins when all requests of the previous step
// are answered, and the data of its objects are extracted. Unlike a wave, it does not wait until these objects are
// ready. All behaviors of a set of objects are called by one goroutine, in the order of the steps, so that variables
// can carry data from one object to a later one.
//
// # Passes
//
// The reconciler calls behaviors in each pass. If the objects did not change, this costs no requests: the objects whose
// data are extracted are kept in memory, and each change of them leads to a pass. If a generator is pure, its objects
// may serve several passes of one component.
//
// # Transformers
//
// Behaviors stay with their objects in all transformers of this module. A custom transformer that returns objects other
// than its input must call [Carry]. Deletion hooks cannot have behaviors, because they are stored.
package behaviors

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/status"
)

// Stepped is the behavior of an object that is applied in a step of its wave. Objects without it are in step 0.
type Stepped interface {
	// Step returns the step, which is not negative.
	Step() int
}

// Guarded is the behavior of an object that is applied only if a guard allows it.
type Guarded interface {
	// Guard returns why the object must not be applied yet; empty if it may be applied. It is called right before the
	// step of the object, after all reads of the step. As long as it returns a reason, neither this step nor anything
	// after it is applied; objects that were applied before stay as they are, and their drift is corrected. The status
	// of the component names the object and the reason. A change of an object whose data are extracted (see Extracting)
	// leads to another pass; for other reasons, the requeue interval of the component applies.
	//
	// An error has the same effect, and the pass is repeated after a growing delay. A types.RetriableError is no
	// failure of the guard, but a reason to repeat the pass.
	Guard() (reason string, err error)
}

// Extracting is the behavior of an object with data that other objects need.
type Extracting interface {
	// Extract reads data from the object as it is in the cluster, including its status. It is called in each pass, when
	// the requests of the object's step are answered, and gets a copy without managedFields. Later steps begin after it
	// has returned nil. An error appears in the status of the component, and the pass is repeated after a growing
	// delay.
	Extract(object *unstructured.Unstructured) error
}

// Reading is the behavior of an object that needs data of objects that are not dependents.
type Reading interface {
	// Reads returns these objects, with the functions that take their data. It is called in each pass, and should
	// return the same objects as long as the generator's objects stay the same.
	Reads() []Read
}

// Read is an object that is read right before the step of another object, before guards are called and late manifests
// are completed.
type Read struct {
	// GroupVersionKind is the type of the object, in the version in which it is read.
	schema.GroupVersionKind
	// NamespacedName is its name. The namespace is required, except for cluster-scoped types.
	types.NamespacedName

	// Take gets the object as it is in the cluster, without managedFields; nil if it does not exist, or its type is not
	// served. It is called in each pass, and must not change the object. The object is read as the identity that writes
	// the dependents, once for each change of it, and each change leads to another pass.
	//
	// An error appears in the status of the component, and this step and all later ones are held back. Return one if
	// the read object is indispensable. Then the pass is repeated when that object changes or appears and, if it
	// exists, after a growing delay.
	Take func(object *unstructured.Unstructured) error

	// Judge, if it is not nil, makes the component wait until the object is ready, as if it were a dependent of the
	// same stage; an object that does not exist is not ready. It gets the same objects as Take, after Take has returned
	// no error.
	Judge status.Judge
	// Grace is how long the object may be unready before its grade counts; see Graceful. Zero means forever.
	Grace time.Duration
	// Optional means that the component does not wait for an object that does not exist.
	Optional bool
	// After means that the object is read after the step. It holds nothing back, but the component still waits for it
	// and for its data. So manifests and guards of other objects must not need these data. Neither plans nor passes of
	// a suspended component read it.
	After bool
}

// Late is the behavior of an object whose manifest is complete only when its step begins, because it needs data of
// other objects.
type Late interface {
	// Complete completes the manifest that the generator returned, after all transformers. It must not change
	// apiVersion, kind, name and namespace, nor the annotations of the reconciler, because these determine the order;
	// and the object must not define types. The result should depend only on the manifest and on extracted data: the
	// object is applied again when it changes.
	//
	// An error appears in the status of the component, neither the step nor anything after it is applied, and the pass
	// is repeated after a growing delay.
	Complete(manifest *unstructured.Unstructured) error
}

// Awaited is the behavior of an object that determines whether the component waits for it. The component waits for all
// objects without this behavior.
type Awaited interface {
	// IsAwaited reports whether later stages and waves, and the component, wait until the object is ready. An object
	// that is not awaited is applied, corrected and deleted like any other.
	IsAwaited() bool
}

// Graceful is the behavior of an object whose health counts only after some time. It concerns the condition of the
// component that its generator names (see generator.Conditioned).
type Graceful interface {
	// GracePeriod returns how long the object may be unready before the condition shows the component as degraded or
	// down. It begins when the component stops being ready, and again when its spec changes. Zero means forever.
	GracePeriod() time.Duration
}

// Ordered is the behavior of an object that determines when it is deleted. The annotation delete-order of the manifest
// takes precedence. The order is not part of the manifest: a change of the order alone does not write the object. When
// the object is written, it gets the annotation, so that a lost record can be rebuilt.
type Ordered interface {
	// DeleteOrder returns the wave in which the object is deleted.
	DeleteOrder() int
}

// Resetting is the behavior of a set of objects that keeps data between calls of its behaviors. It is attached to any
// of the objects.
type Resetting interface {
	// Reset removes all data. It is called at the beginning of each pass and each plan, before any other behavior.
	Reset()
}

// Suspending is the behavior of an object with a suspended form, in which it does no work. The form is applied while
// the component is suspended.
type Suspending interface {
	// Suspend changes the manifest that the generator returned, after all transformers, into the suspended form. The
	// restrictions of Late.Complete and its rules for errors apply.
	Suspend(manifest *unstructured.Unstructured) error
	// IsDeleted reports whether the object is deleted as soon as it is suspended. It is created again when the
	// component is resumed.
	IsDeleted() bool
	// SuspensionJudge returns the judge that finds the object current once it is suspended; nil for the usual judge.
	SuspensionJudge() status.Judge
}

// Judged is the behavior of an object with a judge of its own, instead of its owner's. The annotations fail-when and
// ready-when of the object, and an owner's judge that overrules them (such as one with probes for the object), take
// precedence. Attach a judge itself.
type Judged = status.Judge

// AtStep is a Stepped with a constant step.
type AtStep int

// Step returns the constant.
func (s AtStep) Step() int { return int(s) }

// Guard is a Guarded in the form of a function.
type Guard func() (reason string, err error)

// Guard calls the function.
func (f Guard) Guard() (reason string, err error) { return f() }

// Extract is an Extracting in the form of a function.
type Extract func(object *unstructured.Unstructured) error

// Extract calls the function.
func (f Extract) Extract(object *unstructured.Unstructured) error { return f(object) }

// Reads is a Reading with constant values.
type Reads []Read

// Reads returns the values.
func (r Reads) Reads() []Read { return r }

// GracePeriod is a Graceful with a constant period.
type GracePeriod time.Duration

// GracePeriod returns the constant.
func (p GracePeriod) GracePeriod() time.Duration { return time.Duration(p) }

// DeleteOrder is an Ordered with a constant order.
type DeleteOrder int

// DeleteOrder returns the constant.
func (o DeleteOrder) DeleteOrder() int { return int(o) }

// Reset is a Resetting in the form of a function.
type Reset func()

// Reset calls the function.
func (f Reset) Reset() { f() }

// Complete is a Late in the form of a function.
type Complete func(manifest *unstructured.Unstructured) error

// Complete calls the function.
func (f Complete) Complete(manifest *unstructured.Unstructured) error { return f(manifest) }

// Suspend is a Suspending in the form of a function. The object stays, and is judged as usual.
type Suspend func(manifest *unstructured.Unstructured) error

// Suspend calls the function.
func (f Suspend) Suspend(manifest *unstructured.Unstructured) error { return f(manifest) }

// IsDeleted returns false.
func (f Suspend) IsDeleted() bool { return false }

// SuspensionJudge returns nil.
func (f Suspend) SuspensionJudge() status.Judge { return nil }

// DeletedOnSuspend is a Suspending that deletes the object.
type DeletedOnSuspend struct{}

// Suspend changes nothing.
func (DeletedOnSuspend) Suspend(*unstructured.Unstructured) error { return nil }

// IsDeleted returns true.
func (DeletedOnSuspend) IsDeleted() bool { return true }

// SuspensionJudge returns nil.
func (DeletedOnSuspend) SuspensionJudge() status.Judge { return nil }

// NotAwaited is the Awaited of an object that nothing waits for.
type NotAwaited struct{}

// IsAwaited returns false.
func (NotAwaited) IsAwaited() bool { return false }

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

// Attach returns the object with additional behaviors. It does not change or copy the object. If several behaviors
// implement the same interface, the last one counts. The reconciler refuses objects with a value that implements no
// interface of this package.
func Attach(object client.Object, behaviors ...any) client.Object {
	if len(behaviors) == 0 {
		return object
	}
	return &attached{Object: Bare(object), behaviors: slices.Concat(behaviorsOf(object), behaviors)}
}

func behaviorsOf(object client.Object) []any {
	if a, ok := object.(*attached); ok {
		return a.behaviors
	}
	return nil
}

// Of returns the behavior of an object that implements the interface B; found is false if there is none.
func Of[B any](object client.Object) (behavior B, found bool) {
	for _, candidate := range slices.Backward(behaviorsOf(object)) {
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
	var names []string
	for _, behavior := range behaviorsOf(object) {
		names = append(names, namesOf(behavior)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unknown returns the Go types of the values attached to an object that implement no interface of this package; empty
// if there are none.
func Unknown(object client.Object) []string {
	var unknown []string
	for _, behavior := range behaviorsOf(object) {
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
