// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package connection leads to one cluster, and to the records of the releases in it.
//
// # Contract
//
// A connection is opened without waiting for the cluster, and begins at once to ask which types are served. Whoever looks up a release that does not
// exist gets an error that says which ones there are, or that there are remains of it. All that a connection has is the same for its whole life.
package connection
