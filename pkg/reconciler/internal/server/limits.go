// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package server

// MaxAttempts bounds how often a write is decided anew because the object changed in between.
const MaxAttempts = 5

// CreateOnly is a resource version that no object has. An apply that carries it creates the object or fails
// with a conflict; so it never touches an object that nobody has looked at.
const CreateOnly = "1"
