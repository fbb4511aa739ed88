// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests has what generators share: transformers for parameters and objects, templates, and settings for metadata and policies.
//
// What a generator is and may ask for is in package generator, whose [Generator], [GeneratorFunc] and [Pure] have these names here as well.
// [NewGenerator] adds transformers in front of a generator and behind it.
// Ready ones set policies by rules, substitute variables, apply patches of Kustomize, and set default labels and annotations.
//
// An operator that imports this package carries Kustomize and a library of template functions. Whose objects are written in Go, and need none
// of the transformers, implements generator.Generator or uses generator.Func.
package manifests
