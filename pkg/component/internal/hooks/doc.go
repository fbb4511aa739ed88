// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks keeps the deletion hooks of a component, and runs them when the component is deleted.
//
// # Contract
//
// Hooks are stored in Secrets beside the component before the first dependent is touched: when the component is deleted, what they were made of
// may be gone. As long as there may be any Secret, the status has the field that refers to them: it comes before the first one and goes after
// the last.
//
// Hooks are applied with the rights of the operator, and the status says where they are. Whoever may write the status, and some Secret,
// must not gain these rights by that. So an annotation of the component has the checksum of what the operator has stored: to change it takes
// the right to change the component, and hence its spec.
//
// How hooks take part in a deletion is told by package deletionhooks.
package hooks
