// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

// MaxAttempts is how often a write is attempted while the object keeps changing; each attempt is a new decision.
const MaxAttempts = 5

// CreateOnly is a resource version that no object has. An apply with it creates the object or fails with a conflict; so
// it never changes an object that was not observed.
const CreateOnly = "1"
