// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package server reads dependents: from the observer if that suffices, otherwise from the API server. It counts requests, and limits concurrent ones to
// what the API server serves well. Package executor makes its writes through Server.Mutate.
package server
