// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package finalizers

import "k8s.io/apimachinery/pkg/runtime/schema"

// Outcome returns the finalizer for outcomes of a reconciler.
func Outcome(reconciler string) string { return reconciler + "/outcome" }

// Inventory returns the finalizer of objects that hold a part of an inventory. The finalizer of components may lack the part after the slash, which the server requires here.
func Inventory(reconciler string) string { return reconciler + "/inventory" }

// Announcement says which finalizers a reconciler puts on its components and their dependents.
type Announcement struct {
	// Reconciler is its name, which is the prefix of its labels and annotations.
	Reconciler string
	// Kind is that of the components.
	Kind       schema.GroupVersionKind
	Finalizers Set
}

// Announcer is what a manager implements to be told of the finalizers of its reconcilers when these are set up.
type Announcer interface {
	Announce(announcement Announcement)
}
