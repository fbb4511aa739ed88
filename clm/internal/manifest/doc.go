// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest tells what of a recorded revision is applied when.
//
// # Contract
//
// A revision records all objects that its sources have yielded, hooks among them. Functions of this package select from these without changing them:
// what they return is either the recorded object, to be left as it is, or a copy. They make no requests.
package manifest
