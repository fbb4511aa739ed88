// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package plans plans what applying desired objects would do, by the same decisions as package waves, and compares that with an earlier plan. It changes
// nothing.
package plans
