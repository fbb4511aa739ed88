// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package outcomes defines the outcomes of the steps of a pass.
package outcomes
