// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds kustomizations with the Kustomize SDK, and applies its rules for the names of ConfigMaps and
// Secrets.
//
// The result is that of "kustomize build --load-restrictor LoadRestrictionsNone" (or LoadRestrictionsRootOnly), with
// these differences:
//   - Nothing is fetched: a reference to another machine is an error (see [Walk] for where one may occur).
//   - An OpenAPI schema of one kustomization does not affect others.
//   - A broken schema is an error; the SDK would end the process.
package kustomize
