// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import "slices"

// Finalizers are those of an operator.
type Finalizers struct {
	// Current is the finalizer that the operator sets. Empty means none.
	Current string
	// Former are the finalizers of earlier versions, which the operator removes.
	Former []string
	// Outcome is the finalizer of Jobs and Pods whose outcome has to be recorded. The API server demands a name with a
	// slash for these kinds. Optional.
	Outcome string
}

// Owns reports whether a finalizer belongs to the operator.
func (f Finalizers) Owns(finalizer string) bool {
	return finalizer != "" && (finalizer == f.Current || finalizer == f.Outcome || slices.Contains(f.Former, finalizer))
}

// On reports whether any finalizer of the operator is among those of an object.
func (f Finalizers) On(finalizers []string) bool { return slices.ContainsFunc(finalizers, f.Owns) }

// Without returns the finalizers of an object without those of the operator.
func (f Finalizers) Without(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), f.Owns)
}

// With returns the finalizers of an object with the current one, and without former ones.
func (f Finalizers) With(finalizers []string) []string {
	present := slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer != f.Current && f.Owns(finalizer) })
	if !slices.Contains(present, f.Current) {
		present = append(present, f.Current)
	}
	return present
}

// OutcomeFinalizer returns the finalizer for outcomes of a reconciler.
func OutcomeFinalizer(reconciler string) string { return reconciler + "/outcome" }

// InventoryFinalizer returns the finalizer of objects that hold a part of an inventory. The finalizer of components may
// lack the part after the slash, which the server requires here.
func InventoryFinalizer(reconciler string) string { return reconciler + "/inventory" }
