// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generic contains the common parts of all kinds of typed resources: a [Builder], the [Resource] that it
// builds, and the building blocks for the mutators of kinds.
//
// Packages such as deployment and service instantiate this package with the types of one kind; their types Builder and
// Resource are aliases. A kind of your own, such as a custom resource, needs a Mutator, a [Kind] and a few aliases:
//
//	type Mutator struct {
//		generic.Plan
//		generic.Metadata
//		spec *generic.Category[*v1.WidgetSpec]
//	}
//
// # Plan and apply
//
// A mutation does not change an object at once. It records edits with the mutator; each belongs to a feature and to a
// category, such as "pod spec". When all mutations have recorded their edits, [Plan.Apply] makes each of them once:
// feature by feature, in the order of the mutations; within a feature, category by category, in the order of the kind;
// within a category, in the order of recording. So later features see the results of earlier ones, and the order of
// calls in a mutation matters only within a category.
package generic
