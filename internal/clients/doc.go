// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package clients makes and keeps connections: to the local cluster as the operator itself or as somebody whom
// it impersonates, and to remote clusters by kubeconfig.
//
// # Contract
//
// A connection is found by what it was asked for (the Key), made at most once however many ask at the same time,
// and kept for as long as somebody asks again within its validity. Asking for one connection never waits for
// another one to be made, and making one sends no request. A connection that was dropped goes on working for
// those who still hold it, except that its recorder discards events.
//
// Client-side rate limits are off: the server's priority and fairness sees all clients, this process does not.
//
// A kubeconfig is input of a user. Unless Options say otherwise, it may not make the operator read its own files
// or run programs.
//
// Servers are waited for as long as Options.Patience says, and no longer. What a server to which a kubeconfig leads may send is
// bounded, and is shown only if it is an answer of a Kubernetes API server. Values of rejected objects are removed from what any server says.
// The connection to such a server is closed when it was dropped and its requests are over.
//
// Warnings that come with responses go to the Collector of the request's context, see WithWarnings.
package clients
