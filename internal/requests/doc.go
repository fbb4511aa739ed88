// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package requests records the requests of clients to an API server: for tests that count requests, and for the
// benchmark, which measures the time between them.
package requests
