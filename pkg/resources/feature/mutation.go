// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package feature

// Mutation is a change of a resource that belongs to a feature. M is the type that records changes, such as
// *deployment.Mutator.
type Mutation[M any] struct {
	// Name identifies the mutation in messages. It should be unique among the mutations of a resource.
	Name string
	// Feature decides whether the mutation applies. Nil means always.
	Feature Gate
	// Mutate records the changes. Required.
	Mutate func(M) error
}
