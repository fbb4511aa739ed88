// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package finalizers

// Outcome returns the finalizer for outcomes of a reconciler.
func Outcome(reconciler string) string { return reconciler + "/outcome" }

// Inventory returns the finalizer of objects that hold a part of an inventory. The finalizer of components may lack the part after
// the slash, which the server requires here.
func Inventory(reconciler string) string { return reconciler + "/inventory" }
