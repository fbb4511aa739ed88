// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds kustomizations by means of the Kustomize SDK.
//
// What a kustomization yields is what "kustomize build --load-restrictor LoadRestrictionsNone" yields (with [BuildWithin], LoadRestrictionsRootOnly), with
// these differences:
//   - Nothing is fetched: a reference to another machine is an error (see [Walk] for where one may stand).
//   - An OpenAPI schema that a kustomization brings along has no influence on other kustomizations.
//   - A schema that is broken is an error; the SDK would end the process.
package kustomize
