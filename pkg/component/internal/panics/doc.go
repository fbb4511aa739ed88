// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package panics turns panics into errors.
//
// # Contract
//
// A panic in the code of an operator's author, or in ours, must not stop the operator for all other components. It becomes an error that says what went wrong and
// where. The stack is logged once for each place in the code, however many components and attempts meet it.
package panics
