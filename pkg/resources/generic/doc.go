// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generic has what all kinds of typed resources share: a [Builder], the [Resource] that it builds, and the
// parts of which the mutators of kinds are put together.
//
// Packages such as deployment and service are this package with the types of one kind filled in; their types Builder
// and Resource are aliases. A kind of your own, such as a custom resource, needs a Mutator, a [Kind] and a few aliases:
//
//	type Mutator struct {
//		generic.Plan
//		generic.Metadata
//		spec *generic.Category[*v1.WidgetSpec]
//	}
//
// # Plan and apply
//
// A mutation does not change an object at once. It records edits with the mutator, which belong to a feature and to a
// category, such as "pod spec". When all mutations have recorded theirs, [Plan.Apply] makes them: feature by feature,
// in the order of the mutations; within a feature, category by category, in an order that the kind fixes; within a
// category, in the order in which they were recorded. So later features see what earlier ones have made, and the order
// of calls in one mutation matters only within a category. Each edit is made once.
package generic
