// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package digest computes the stable hashes by which content and owners are recognised again. What it
// returns is persisted in clusters; its results must never change for the same input.
package digest
