// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rebuild finds the dependents of an owner whose inventory was lost, by their labels and annotations.
package rebuild
