// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package offline stands in for a cluster where generators are called without one. Its cluster serves the stable types of Kubernetes, and has the objects that it is
// given.
package offline
