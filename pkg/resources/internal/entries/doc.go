// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package entries computes the hash of the entries of a ConfigMap or Secret, by which a pod template can tell that they have changed.
package entries
