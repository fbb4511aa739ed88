// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package connection connects to one cluster, and to the records of the releases in it.
//
// # Contract
//
// Opening a connection does not wait for the cluster, but starts to ask which types it serves. Looking up a release
// that does not exist yields an error that names the existing releases, or says that parts of its record are left. A
// connection does not change during its life.
package connection
