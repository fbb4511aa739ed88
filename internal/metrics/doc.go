// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the runtime's Prometheus collectors. Existing dashboards use their names and labels:
// do not rename them.
//
// New registers the collectors once per registry, and binds them to one controller. Series of a component exist from
// the first SetComponent until RemoveComponent.
package metrics
