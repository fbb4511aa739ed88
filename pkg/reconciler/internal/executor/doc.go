// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package executor makes the requests that change dependents, each guarded by the UID and the resource version of the
// observed object. With a server that makes dry runs, the same requests change nothing: so a Preview shows what they would
// make of an object.
package executor
