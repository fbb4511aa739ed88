// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package server reads dependents: from the observer if that suffices, otherwise from the API server. It counts
// requests, limits concurrent ones to what the API server serves well, and interprets errors of the API server. Package
// executor makes its writes through Server.Mutate.
package server
