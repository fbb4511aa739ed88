// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package judges has the judges of the owners of one reconciler: for each owner the one that it has named, else that of
// the reconciler, and those of single objects. On top of all of them are the annotations ready-when and fail-when.
// Await keeps custom resources from counting as ready before their controllers have reported anything.
//
// # Expressions
//
// Conditions about one object are written in CEL (https://cel.dev). The object is the variable "self".
//
// An expression cannot make requests, nor change anything. What it may cost is limited twice: by an estimate when it is
// compiled, and by counting when it is evaluated.
package judges
