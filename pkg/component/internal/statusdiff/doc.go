// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package statusdiff compares statuses as JSON has them: what has changed, and what a server has not kept.
package statusdiff
