// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package outcomes has the words in which the steps of a pass say how they ended.
package outcomes
