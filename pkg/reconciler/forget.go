// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

// Forget drops what is remembered about an owner that this process does not work for any longer. Should it do so again, that
// costs computations and perhaps requests, and nothing else. No call for the owner may be under way.
func (r *Reconciler) Forget(ownerID string) {
	r.memory.keep(ownerID, nil)
}
