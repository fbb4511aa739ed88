// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package items compares inventories, and marks them so that one that was emptied or shortened is noticed.
package items
