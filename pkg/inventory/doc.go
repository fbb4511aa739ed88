// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory has the words in which dependents are recorded: items, their phases and policies. Items are part of statuses and of
// the records of releases; their JSON does not change in ways that older or newer readers do not understand.
package inventory
