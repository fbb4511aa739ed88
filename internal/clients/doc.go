// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package clients makes and keeps connections: to the local cluster as the operator itself or as a user that it
// impersonates, and to remote clusters by kubeconfig.
//
// # Contract
//
// There is one connection for each Key. It is made when it is first requested, and kept until it is dropped. Making one
// sends no request. Callers can continue to use a dropped connection, except that its recorder discards events.
//
// Client-side rate limits are off: the server's priority and fairness takes all clients into account, unlike a limit in
// this process.
//
// A kubeconfig is user input. It must not make the operator read local files or run programs.
//
// Options.Patience limits how long a connection waits for its server. The responses of a remote server are limited in
// size, and its error responses are shown only if they are from a Kubernetes API server. Values of rejected objects are
// removed from the errors of any server. The network connections to a remote server are closed some seconds after the
// connection was dropped.
//
// Warnings in responses go to the Collector of the request's context, see WithWarnings.
package clients
