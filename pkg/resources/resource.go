// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Resource is an object of a component. It may also implement interfaces of package concepts: Alive, Completable or
// Operational; Graceful; Suspendable; Guardable; DataExtractable; ObservationRecorder, without which the methods of the
// others do not see the object as it is in the cluster; Amendable; Warning; and Registered.
type Resource interface {
	// Identity returns version, kind, namespace and name, such as "apps/v1/Deployment/shop/web". It is unique among the
	// resources of a component.
	Identity() string
	// Object returns the object without mutations. The caller may change it.
	Object() (client.Object, error)
	// Mutate turns any object of the same Go type into the desired one.
	Mutate(current client.Object) error
}

// registrationOf returns how a resource takes part in a set.
func registrationOf(resource Resource) concepts.Registration {
	if registered, ok := resource.(concepts.Registered); ok {
		return registered.Registration()
	}
	registration := concepts.Registration{Judged: statusOf(resource) != nil, Custom: true}
	_, registration.Guarded = resource.(concepts.Guardable)
	_, registration.Extracts = resource.(concepts.DataExtractable)
	_, registration.Suspendable = resource.(concepts.Suspendable)
	registration.MayVary = registration.Guarded || registration.Extracts
	return registration
}

// statusOf returns a function for the status of the object that a resource has recorded; nil if it has no status.
func statusOf(resource Resource) func(op concepts.ConvergingOperation) (concepts.Converging, error) {
	switch resource := resource.(type) {
	case concepts.Alive:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	case concepts.Completable:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	case concepts.Operational:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	default:
		return nil
	}
}
