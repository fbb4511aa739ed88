// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deployments has Deployments that are made in two ways: as typed resources with mutations, and by hand.
package deployments
