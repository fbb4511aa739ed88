// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package fieldset reads metadata.managedFields: which fields a field manager owns, whether that has changed, and which
// fields others have added. It also removes such fields from an object.
//
// The field sets are those of structured-merge-diff.
package fieldset
