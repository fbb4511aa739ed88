// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds what the runtime tells Prometheus. Names and labels are those that existing dashboards
// use: do not rename them.
//
// New registers the collectors once per registry; ForController binds them to one controller. Series of a
// component exist from the first SetComponent until RemoveComponent.
package metrics
