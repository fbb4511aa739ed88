// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generation calls generators, and reuses their results.
//
// # Contract
//
// The result of a pure generator is reused until one of its inputs changes, unless the generator has read from a
// cluster. The types of the cluster that it has looked up are inputs, too.
//
// A pass waits for the generator. A call that takes longer than a second is announced, and one that takes longer than
// the timeout of the component is canceled. A generator that does not return then is left alone: the pass ends and says
// so, the component is woken when it has returned, and it is not called again before that. Its result is dropped.
package generation
