// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package items compares inventories, and computes a mark that reveals emptied or shortened ones.
package items
