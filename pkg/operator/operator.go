// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package operator defines the interface of a component operator to the program that runs it, alone or together with
// others.
package operator

import (
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operator is a component operator as the program that runs it sees it. The program calls each method once, in the
// order in which they are listed, and creates the manager after GetUncacheableTypes.
//
// Several operators may run in one program. Each of them should then accept a prefix for its flags, and must have its
// own name, because the name marks its dependents.
type Operator interface {
	// GetName returns the name of the operator, a domain name that is unique in the cluster. It is the name of the
	// reconciler, hence the prefix of all labels and annotations.
	GetName() string
	// InitScheme adds the types of the operator's components, and other types that its code uses with the manager's
	// client. The scheme is shared with other operators.
	InitScheme(scheme *runtime.Scheme)
	// InitFlags declares flags; their values are known when ValidateFlags is called.
	InitFlags(flagset *flag.FlagSet)
	// ValidateFlags returns an error that names the flag whose value is invalid.
	ValidateFlags() error
	// GetUncacheableTypes returns types that the manager's client reads from the API server instead of the cache,
	// usually because the operator may not list them in the whole cluster.
	GetUncacheableTypes() []client.Object
	// Setup adds reconcilers, webhooks and other runnables to the manager.
	Setup(mgr ctrl.Manager) error
}
