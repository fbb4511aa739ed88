// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package resource reads and writes the custom resource of a component.
//
// # Contract
//
// A pass never starts from a component that is older than the last write of this process. If the cache does not show
// that write yet, Client.Fetch reads from the server.
//
// Each write of a Handle carries the UID and the resource version that the pass is based on. If another client has
// written meanwhile, but not the status, the write is repeated with the current version; otherwise it fails with
// ErrChanged, and the pass ends.
//
// A server may drop fields of the status because the CustomResourceDefinition is older than the operator. That does not
// cause a write in each pass: the memory has the status that was sent, and the one that came back.
package resource
