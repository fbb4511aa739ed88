// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package executor makes the requests that change dependents, each guarded by the UID and the resource version of the observed object. With a server
// that makes dry runs, as plans have it, the same requests change nothing.
package executor
