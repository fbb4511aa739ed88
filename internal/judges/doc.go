// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package judges has the judges of the owners of one reconciler: each owner has its own judge or the reconciler's, and
// single objects may have their own. The annotations ready-when and fail-when apply on top of all judges. Await keeps
// custom resources from counting as ready before their controllers have reported anything.
//
// # Expressions
//
// Conditions about one object are written in CEL (https://cel.dev). The object is the variable "self".
//
// An expression cannot make requests, nor change anything. Its cost is limited twice: by an estimate when it is
// compiled, and by counting when it is evaluated.
package judges
