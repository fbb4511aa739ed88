// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package reports keeps custom resources from counting as ready before their controllers have reported anything. It knows which types have conditions
// from their definitions, each of which is read once.
package reports
