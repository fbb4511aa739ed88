// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package execute reads dependents, from the observer if that suffices, otherwise from the API server, and makes the
// requests that change them. Each is guarded by the UID and the resource version of the observed object. With a server
// that makes dry runs, the same requests change nothing: so a Preview shows their effect on an object.
//
// It reports each request to Config.OnOperation, and interprets errors of the API server.
package execute
