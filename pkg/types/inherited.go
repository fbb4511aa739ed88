// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Inherited is what a former manager, such as Helm, has installed for an owner.
type Inherited struct {
	// Text names it in messages, such as "revision 3 of Helm release shop/web".
	Text string
	// Revision is the number of the installed revision; at least 1.
	Revision int64
	// Objects have the marks of the former manager. They are adopted, whatever their adoption policies are, and never
	// deleted for that.
	Objects []ObjectKey
	// Completed are objects that have served their purpose, such as hooks. They are not applied before the owner
	// changes.
	Completed []ObjectKey
	// Retire ends the management by the former manager, for example by deleting its record. It is called when all
	// objects are ready, again after an error, and after a restart that comes too early.
	Retire func(ctx context.Context) error
}

// InheritFunc returns what a former manager has installed for an owner, in objects with the given namespace and name;
// nil if there is nothing, or no longer. The owner has its type. The client is for the cluster of the objects. It must not write. A
// [RetriableError] means that the former manager has to do something first.
type InheritFunc func(ctx context.Context, clnt client.Client, owner client.Object, namespace, name string) (*Inherited, error)
