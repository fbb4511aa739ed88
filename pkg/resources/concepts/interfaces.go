// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
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
