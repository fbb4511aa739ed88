// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operator is a component operator as a program sees it. The methods are called once each, in the order in which
// they are listed; the program creates the manager after GetUncacheableTypes.
//
// Several operators may live in one program. Each of them should then accept a prefix for its flags, and must have a
// name of its own, because the name marks its dependents.
type Operator interface {
	// GetName returns the name of the operator, a domain name that is unique in the cluster. It is the name of the
	// reconciler, hence the prefix of all labels and annotations.
	GetName() string
	// InitScheme adds the types of the operator's components, and other types that its code uses with the manager's
	// client. The scheme is shared with other operators.
	InitScheme(scheme *runtime.Scheme)
	// InitFlags declares flags; their values are known when ValidateFlags is called.
	InitFlags(flagset *flag.FlagSet)
	// ValidateFlags returns an error that names the flag whose value cannot be accepted.
	ValidateFlags() error
	// GetUncacheableTypes returns types that the manager's client reads from the API server instead of the cache,
	// usually such as the operator may not list in the whole cluster.
	GetUncacheableTypes() []client.Object
	// Setup adds reconcilers, webhooks and whatever else runs to the manager.
	Setup(mgr ctrl.Manager) error
}
