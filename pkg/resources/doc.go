// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package resources makes a generator of typed resources: objects that are built in Go, with mutations that belong to
// features, and with all that is known about their health, suspension and data.
//
// [NewGenerator] takes a function that returns resources, mostly those of the packages below, such as deployment and
// service. They become dependents like those of any other generator: waves, policies, inventory and drift are the same.
//
// # Order
//
// Resources are applied wave by wave, and within a wave in the order in which they are returned, as far as that
// matters: a resource with a guard, and one that needs data of an earlier resource, begin a new step (see package
// behaviors), which begins when everything before is applied. Other resources of a step are applied side by side.
// Resources are deleted in the reverse of that order, one after the other.
//
// # Data
//
// A value that is extracted from one resource and used by a later one is kept in a [concepts.Data]. Both say so to
// their builders. A resource that uses data is mutated when its step begins.
//
// # Passes
//
// The function is called again only if the component has changed, because its result is reused otherwise. So it must
// depend only on its input and on what it gets from the context. If a resource has a guard or a data extractor, which
// may remember something, it is called in each pass.
//
// # Hand-written resources
//
// Whatever has the three methods of [Resource] can be returned. Further interfaces of package concepts, which are all
// optional, say more about it.
package resources
