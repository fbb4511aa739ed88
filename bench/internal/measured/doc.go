// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package measured has what a run yields: figures with their bars, and the report that shows them.
package measured
