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
	// ConvergingStatus returns the progress of the recorded object (see ObservationRecorder).
	ConvergingStatus(op ConvergingOperation) (AliveStatusWithReason, error)
}

// Completable is implemented by resources that run to completion, such as a Job.
type Completable interface {
	// ConvergingStatus returns the progress of the recorded object.
	ConvergingStatus(op ConvergingOperation) (CompletionStatusWithReason, error)
}

// Operational is implemented by resources that work without running something themselves, such as a Service.
type Operational interface {
	// ConvergingStatus returns the progress of the recorded object.
	ConvergingStatus(op ConvergingOperation) (OperationalStatusWithReason, error)
}

// Graceful is implemented by resources that can report how well they do their job before they match their spec.
type Graceful interface {
	// GraceStatus returns how well the recorded object does its job.
	GraceStatus() (GraceStatusWithReason, error)
}

// Suspendable is implemented by resources that have a form in which they do no work.
type Suspendable interface {
	// DeleteOnSuspend reports whether the object is deleted as soon as it is suspended.
	DeleteOnSuspend() bool
	// Suspend makes the next call of Mutate produce the suspended form.
	Suspend() error
	// SuspensionStatus returns the progress of the suspension of the recorded object.
	SuspensionStatus() (SuspensionStatusWithReason, error)
}

// Guardable is implemented by resources that are applied only if a guard allows it.
type Guardable interface {
	// GuardStatus returns whether the object may be applied. While it is Blocked, neither the object nor later
	// resources are applied.
	GuardStatus() (GuardStatusWithReason, error)
}

// DataExtractable is implemented by resources that provide data to others.
type DataExtractable interface {
	// ExtractData reads data from the recorded object.
	ExtractData() error
}

// ObservationRecorder is implemented by resources that record the object as it is in the cluster, for their other
// methods.
type ObservationRecorder interface {
	// RecordObservation records the object. It must have the Go type of the resource's own object, and must not be
	// changed afterwards.
	RecordObservation(object client.Object) error
}

// Amendable is implemented by resources that can apply their mutations to a given manifest. A resource must implement
// it if it is suspendable or follows a resource whose data are extracted, because transformers have already changed its
// manifest by then.
type Amendable interface {
	// Amend applies all mutations to a manifest without any; if suspended, it then applies the suspension.
	Amend(manifest client.Object, suspended bool) error
	// AmendSuspended applies the suspension to a manifest that already has all mutations.
	AmendSuspended(manifest client.Object) error
}

// Warning is implemented by resources that report mistakes that are not errors, such as a selector that matches no
// container.
type Warning interface {
	// Warnings returns the warnings of the last mutation.
	Warnings() []string
}

// Registered is implemented by resources that describe how they take part in a set of resources.
type Registered interface {
	Registration() Registration
}

// Registration describes how a resource takes part in a set of resources. The zero value is for a resource without
// options.
type Registration struct {
	// Gate decides whether the object exists: if it is off, the object is deleted. Nil means that it is on.
	Gate feature.Gate
	// ReadOnly means that the object has another owner: it is read, but never written or deleted.
	ReadOnly bool
	// Absence is the meaning of a missing read-only object.
	Absence Absence
	// Auxiliary means that nothing waits for the object to be ready, and that its health does not count.
	Auxiliary bool
	// GracePeriod is how long the object may be unready before its GraceStatus counts; zero means the default of the
	// set.
	GracePeriod time.Duration
	// Policies contains the values of policy annotations. The keys lack the name of the reconciler.
	Policies map[string]string
	// Produces are the values that are extracted from the object.
	Produces []Cell
	// Requires are the values without which the object must not be applied.
	Requires []Cell
	// Uses are the values that the object uses if they exist.
	Uses []Cell
	// Extracts means that functions extract data that are in none of the cells.
	Extracts bool
	// Guarded means that the resource has a guard of its own.
	Guarded bool
	// Suspendable means that the object has a suspended form.
	Suspendable bool
	// Judged means that ConvergingStatus decides whether the object is ready. Otherwise, the component's judge decides.
	Judged bool
	// Custom means that functions of the author compute the status. They may depend on the input of the generator.
	Custom bool
	// MayVary means that functions of the author may depend on more than the generator's input and cells, so each pass
	// must generate the resource again.
	MayVary bool
}

// Absence is the meaning of a missing read-only object.
type Absence string

const (
	// AbsenceBlocks means that later resources wait for the object. This is the default.
	AbsenceBlocks Absence = ""
	// AbsenceIsFine means that a missing object counts as ready, and its data stay unset.
	AbsenceIsFine Absence = "Fine"
)

// Inspectable is implemented by resources that tests can inspect. The reconciler does not need it.
type Inspectable interface {
	// Mutations returns all mutations, in the order in which they are applied.
	Mutations() []MutationState
	// Preview returns the object with all mutations that are on, but not suspended, and the warnings of these mutations
	// (see Warning). It changes nothing. It fails if two mutations set one field to different values.
	Preview() (object client.Object, warnings []string, err error)
}

// MutationState reports whether a mutation is on.
type MutationState struct {
	// Name is the name of the mutation.
	Name string
	// Enabled means that the mutation is on.
	Enabled bool
	// Why begins with "on", "off" or "cannot tell", followed by the reason if the gate can explain its answer.
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

// ErrDataNotExtracted is returned by Data.Require if the value is not set.
var ErrDataNotExtracted = errors.New("data not extracted")

// Cell is a Data of any type.
type Cell interface {
	// Name identifies the value in messages.
	Name() string
	// IsSet reports whether the value is set.
	IsSet() bool
	// Clear removes the value.
	Clear()
}

// Data is a value that is extracted from one resource and used by others. Resources must declare which data they use,
// so that the reconciler can tell when their objects are complete; a mutation that uses undeclared data is refused.
// Create a new Data in each call of the generator, and capture it in mutations. It must not be used concurrently.
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

// IsSet reports whether the value is set.
func (d *Data[V]) IsSet() bool { return d.set }

// Get returns the value, and whether it is set.
func (d *Data[V]) Get() (value V, found bool) {
	d.read()
	return d.value, d.set
}

// Require returns the value. If it is not set, it returns an ErrDataNotExtracted that contains the name.
func (d *Data[V]) Require() (V, error) {
	d.read()
	if !d.set {
		return d.value, fmt.Errorf("%q: %w", d.name, ErrDataNotExtracted)
	}
	return d.value, nil
}

// OnRead sets the function that Get and Require call, for finding the users of the value. It replaces any earlier one.
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

// Into returns an Extraction that stores the result of a function in a Data. If the function reports that no value
// exists yet, the Data stays unset.
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
