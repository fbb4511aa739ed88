// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generation calls generators, and reuses their results.
//
// # Contract
//
// The result of a pure generator is reused until one of its inputs changes, unless the generator has read from a cluster. The types of the
// cluster that it has looked up are inputs, too.
//
// A pass waits a second for a generator. What needs longer goes on without the pass, which ends and says so; the component is woken when the generator has returned.
// A call that lasts longer than the timeout of the component is canceled, and so is one whose inputs have changed. A generator that does not return then is not
// called again for the component before it does. A result that comes late is used, if the inputs are still the same.
package generation
