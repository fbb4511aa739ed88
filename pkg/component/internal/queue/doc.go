// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides in which order, and how often, components are reconciled: by priorities that rise with the waiting time, and by an allowance
// for passes that other objects cause.
package queue
