// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package resources provides a generator of typed resources: objects built in Go, with mutations that belong to
// features, and with functions for their health, suspension and data.
//
// [NewGenerator] takes a function that returns resources, usually from the packages below, such as deployment and
// service. They become dependents like any others, with waves, policies, inventory and drift.
//
// # Order
//
// Resources are applied wave by wave, and within a wave in the order in which they are returned, where that matters: a
// resource that has a guard, or needs data of an earlier resource, begins a new step (see package behaviors). A step
// begins when everything before it is applied. Other resources of a step are applied in parallel. Resources are deleted
// in reverse order, one after the other.
//
// # Data
//
// A [concepts.Data] holds a value that is extracted from one resource and used by a later one. Both declare it to their
// builders. A resource that uses data is mutated when its step begins.
//
// # Passes
//
// The function is called again only if the component has changed; otherwise its result is reused. So it must depend
// only on its input and on values from the context. If a resource has a guard or a data extractor, which may keep
// state, the function is called in each pass.
//
// # Hand-written resources
//
// Any type with the three methods of [Resource] can be returned. It may implement further interfaces of package
// concepts, which are all optional.
package resources
