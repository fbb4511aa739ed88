// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package expressions compiles and evaluates conditions about one object, written in CEL (https://cel.dev). The object
// is the variable "self".
//
// An expression cannot make requests, nor change anything. What it may cost is limited twice: by an estimate when it is
// compiled, and by counting when it is evaluated.
package expressions
