// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package fieldset reads what metadata.managedFields says about an object: which fields a field manager owns, whether
// that has changed, and which fields of others stand beside ours. It also takes such fields out of an object.
//
// Field sets themselves are those of structured-merge-diff.
package fieldset
