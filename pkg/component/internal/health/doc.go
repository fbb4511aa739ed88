// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package health decides what the condition says that a generator names for the health of its dependents (see generator.Conditioned). It is pure.
package health
