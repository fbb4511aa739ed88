// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests provides transformers for parameters and objects of generators, and templates for parameters.
//
// [Generator], [GeneratorFunc] and [Pure] are those of package generator, which documents the contract of generators.
// [NewGenerator] adds transformers before and after a generator. The transformers here set policies by rules,
// substitute variables, apply Kustomize patches, and translate hook annotations.
//
// An operator that imports this package links Kustomize and a library of template functions. If your objects are
// written in Go and need no transformers, implement generator.Generator or use generator.Func instead.
package manifests
