// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package finalizers

import "k8s.io/apimachinery/pkg/runtime/schema"

// Outcome returns the finalizer for outcomes of a reconciler.
func Outcome(reconciler string) string { return reconciler + "/outcome" }

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
