// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package finalizers

import "slices"

// Set is the finalizers of an operator.
type Set struct {
	// Current is the finalizer that the operator sets. Empty means none.
	Current string
	// Former are the finalizers of earlier versions, which the operator removes.
	Former []string
	// Outcome is the finalizer of Jobs and Pods whose outcome has to be recorded. The API server demands a name with a slash for these kinds. Optional.
	Outcome string
}

// Owns reports whether a finalizer belongs to the operator.
func (s Set) Owns(finalizer string) bool {
	return finalizer != "" && (finalizer == s.Current || finalizer == s.Outcome || slices.Contains(s.Former, finalizer))
}

// On reports whether any finalizer of the operator is among those of an object.
func (s Set) On(finalizers []string) bool { return slices.ContainsFunc(finalizers, s.Owns) }

// Without returns the finalizers of an object without those of the operator.
func (s Set) Without(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), s.Owns)
}

// With returns the finalizers of an object with the current one, and without former ones.
func (s Set) With(finalizers []string) []string {
	present := slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer != s.Current && s.Owns(finalizer) })
	if !slices.Contains(present, s.Current) {
		present = append(present, s.Current)
	}
	return present
}
