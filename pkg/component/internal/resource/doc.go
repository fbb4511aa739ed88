// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package resource reads and writes the custom resource of a component.
//
// # Contract
//
// A pass never starts from a component that is older than the last write of this process: Client.Fetch waits until the cache shows that
// write, and asks the server if it takes too long.
//
// Each write of a Handle carries the UID and the resource version that the pass is based on. If somebody else has written meanwhile and has left
// the status alone, the write is repeated on what is there; otherwise it fails with ErrChanged, and the pass ends.
//
// A server that drops fields of the status, because the CustomResourceDefinition is older than the operator, does not cause a write in each
// pass: what was sent is remembered, together with what came back.
package resource
