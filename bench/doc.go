// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the runtime against a Kubernetes that it starts by itself, and prints one table.
//
// Each figure of speed is a ratio to a limit: what a bare client takes for the same writes, measured in the same run on the same
// API server. Requests are counted in the transport of the operator and compared with the audit log of the API server.
package main
