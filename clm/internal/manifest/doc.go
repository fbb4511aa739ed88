// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest selects the objects of a recorded revision by when they are applied.
//
// # Contract
//
// A revision records all objects that its sources have rendered, including hooks. The functions of this package do not change these objects:
// they return either a recorded object, which the caller must not change, or a copy. They make no requests.
package manifest
