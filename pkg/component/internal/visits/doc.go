// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package visits limits how many workers wait for remote clusters that are slow, or do not answer.
package visits
