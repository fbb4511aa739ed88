// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package statusdiff compares statuses in their JSON form: what has changed, and what a server has dropped.
package statusdiff
