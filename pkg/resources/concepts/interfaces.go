// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/feature"
)

// Alive is implemented by resources that run something, such as a Deployment.
type Alive interface {
	// ConvergingStatus returns how far the object is as it was last recorded (see ObservationRecorder).
	ConvergingStatus(op ConvergingOperation) (AliveStatusWithReason, error)
}

// Completable is implemented by resources that run to completion, such as a Job.
type Completable interface {
	// ConvergingStatus returns how far the object is as it was last recorded.
	ConvergingStatus(op ConvergingOperation) (CompletionStatusWithReason, error)
}

// Operational is implemented by resources that work without running something themselves, such as a Service.
type Operational interface {
	// ConvergingStatus returns how far the object is as it was last recorded.
	ConvergingStatus(op ConvergingOperation) (OperationalStatusWithReason, error)
}

// Graceful is implemented by resources that can tell how well they do their job while they are not as their spec asks.
type Graceful interface {
	// GraceStatus returns how well the object does its job, as it was last recorded.
	GraceStatus() (GraceStatusWithReason, error)
}

// Suspendable is implemented by resources that have a form in which they do no work.
type Suspendable interface {
	// DeleteOnSuspend reports whether the object is deleted as soon as it is suspended.
	DeleteOnSuspend() bool
	// Suspend lets the next call of Mutate return the suspended form.
	Suspend() error
	// SuspensionStatus returns how far the suspension of the object is, as it was last recorded.
	SuspensionStatus() (SuspensionStatusWithReason, error)
}

// Guardable is implemented by resources that are applied only if a guard allows it.
type Guardable interface {
	// GuardStatus returns whether the object may be applied. As long as it is Blocked, neither the object nor what
	// comes later is applied.
	GuardStatus() (GuardStatusWithReason, error)
}

// DataExtractable is implemented by resources that others need data of.
type DataExtractable interface {
	// ExtractData reads data from the object as it was last recorded.
	ExtractData() error
}

// ObservationRecorder is implemented by resources that keep an object as it is in the cluster, because other methods
// speak about it.
type ObservationRecorder interface {
	// RecordObservation keeps the object, which has the Go type of the resource's own object, and must not be changed
	// afterwards.
	RecordObservation(object client.Object) error
}

// Amendable is implemented by resources whose mutations can be applied to a given manifest. This is necessary if a
// resource is suspendable, or if it comes after one whose data are extracted, because its manifest has been changed by
// transformers then.
type Amendable interface {
	// Amend applies the mutations to a manifest that has none of them yet, and then, if suspended, what suspends it.
	Amend(manifest client.Object, suspended bool) error
	// AmendSuspended applies what suspends it to a manifest that has all other mutations.
	AmendSuspended(manifest client.Object) error
}

// Warning is implemented by resources that notice mistakes which are no errors, such as a selector that matches no
// container.
type Warning interface {
	// Warnings returns what the last mutation has noticed.
	Warnings() []string
}

// Registered is implemented by resources that say how they take part in a set of resources.
type Registered interface {
	Registration() Registration
}

// Registration says how a resource takes part in a set of resources. The zero value is that of a resource without any
// options.
type Registration struct {
	// Gate decides whether the object exists: if it is off, the object is deleted. Nil means that it is on.
	Gate feature.Gate
	// ReadOnly means that the object has another owner: it is read, and never written or deleted.
	ReadOnly bool
	// Absence says what it means if a read-only object does not exist.
	Absence Absence
	// Auxiliary means that nothing waits until the object is ready, and that its health does not count.
	Auxiliary bool
	// GracePeriod is how long the object may be not ready before its GraceStatus counts; zero means that the set
	// decides.
	GracePeriod time.Duration
	// Policies has values of policy annotations, by the part of their keys that follows the name of the reconciler.
	Policies map[string]string
	// Produces are the values that are extracted from the object.
	Produces []Cell
	// Requires are the values without which the object must not be applied.
	Requires []Cell
	// Uses are the values that the object uses if they exist.
	Uses []Cell
	// Extracts means that functions extract data which are in none of the cells.
	Extracts bool
	// Guarded means that the resource has a guard of its own.
	Guarded bool
	// Suspendable means that the object has a suspended form.
	Suspendable bool
	// Judged means that ConvergingStatus decides whether the object is ready. Otherwise, the judge of the component
	// decides.
	Judged bool
	// Custom means that the status is computed by functions of the author, which may depend on the input of the
	// generator.
	Custom bool
	// MayVary means that functions of the author may depend on more than the input of the generator and cells; so the
	// resource must be made again for each pass.
	MayVary bool
}

// Absence says what it means if a read-only object does not exist.
type Absence string

const (
	// AbsenceBlocks means that what comes later waits for the object. This is the default.
	AbsenceBlocks Absence = ""
	// AbsenceIsFine means that the object is as good as ready, and that its data stay unset.
	AbsenceIsFine Absence = "Fine"
)

// Inspectable is implemented by resources that tests can look into. The reconciler does not need it.
type Inspectable interface {
	// Mutations returns all mutations, in the order in which they are applied.
	Mutations() []MutationState
	// Preview returns the object with all mutations that are on, and without what suspends it, and what these have
	// noticed (see Warning). It changes nothing. It fails if two mutations give one field different values.
	Preview() (object client.Object, warnings []string, err error)
}

// MutationState says whether a mutation is on.
type MutationState struct {
	// Name is the name of the mutation.
	Name string
	// Enabled means that the mutation is on.
	Enabled bool
	// Why begins with "on" or "off", or says that this cannot be told; as far as the gate can explain its answer, the
	// reason follows.
	Why string
}

// StateOfMutation returns the state of a mutation with this gate, which may be nil.
func StateOfMutation(name string, gate feature.Gate) MutationState {
	if gate == nil {
		return MutationState{Name: name, Enabled: true, Why: "on: there is no gate"}
	}
	enabled, err := gate.Enabled()
	state := MutationState{Name: name, Enabled: enabled && err == nil}
	explainer, explains := gate.(feature.Explainer)
	switch {
	case explains:
		state.Why = explainer.Why()
	case err != nil:
		state.Why = "cannot tell: " + err.Error()
	case enabled:
		state.Why = "on"
	default:
		state.Why = "off"
	}
	return state
}

// ErrDataNotExtracted is returned by Data.Require if there is no value.
var ErrDataNotExtracted = errors.New("data not extracted")

// Cell is a Data of any type.
type Cell interface {
	// Name identifies the value in messages.
	Name() string
	// IsSet reports whether there is a value.
	IsSet() bool
	// Clear removes the value.
	Clear()
}

// Data is a value that is extracted from one resource, and used by others. Resources that use it say so, so that it is
// known when their objects are complete; a mutation that uses a value without that is refused. Make a new one in each
// call of the generator, and capture it in mutations. It must not be used concurrently.
type Data[V any] struct {
	name   string
	value  V
	set    bool
	onRead func()
}

// NewData returns a Data without value. The name, such as "database host", appears in messages, and must be unique
// among the resources of a component.
func NewData[V any](name string) *Data[V] { return &Data[V]{name: name} }

// Name returns the name.
func (d *Data[V]) Name() string { return d.name }

// IsSet reports whether there is a value.
func (d *Data[V]) IsSet() bool { return d.set }

// Get returns the value, and whether there is one.
func (d *Data[V]) Get() (value V, found bool) {
	d.read()
	return d.value, d.set
}

// Require returns the value, or an error that names it, which is an ErrDataNotExtracted.
func (d *Data[V]) Require() (V, error) {
	d.read()
	if !d.set {
		return d.value, fmt.Errorf("%q: %w", d.name, ErrDataNotExtracted)
	}
	return d.value, nil
}

// OnRead has a function called by Get and Require, instead of the one before. It tells which resources use the value.
func (d *Data[V]) OnRead(f func()) { d.onRead = f }

func (d *Data[V]) read() {
	if d.onRead != nil {
		d.onRead()
	}
}

// Set sets the value.
func (d *Data[V]) Set(value V) { d.value, d.set = value, true }

// Clear removes the value.
func (d *Data[V]) Clear() {
	var none V
	d.value, d.set = none, false
}

// Extraction takes a value from an object of type O.
type Extraction[O any] struct {
	// Cell receives the value.
	Cell Cell
	// Extract takes it.
	Extract func(object O) error
}

// Into returns the Extraction that puts the result of a function into a Data. If the function reports that there is no
// value yet, the Data stays without.
func Into[O, V any](data *Data[V], extract func(object O) (value V, found bool, err error)) Extraction[O] {
	if data == nil || extract == nil {
		return Extraction[O]{}
	}
	return Extraction[O]{Cell: data, Extract: func(object O) error {
		data.Clear()
		value, found, err := extract(object)
		if err != nil {
			return fmt.Errorf("%q: %w", data.name, err)
		}
		if found {
			data.Set(value)
		}
		return nil
	}}
}
