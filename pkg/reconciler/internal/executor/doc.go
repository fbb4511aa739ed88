// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package executor makes the requests that change dependents. Each is one request, guarded by the UID and the resource version of what was decided
// upon. With a server that makes dry runs, the same requests change nothing; that is how plans are made.
package executor
