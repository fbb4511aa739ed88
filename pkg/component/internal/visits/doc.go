// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package visits bounds how many workers wait for remote clusters that do not answer, or are slow to.
package visits
