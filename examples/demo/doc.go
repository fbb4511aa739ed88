// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command demo runs the parcel operator in a sandbox and plays what happens in the life of a component: it is created
// in waves, healed after somebody meddled with it, changed, refused to be deleted, and finally deleted.
//
// Nothing that it shows is taken from the operator's word. It watches the API server itself, computes what it claims
// from the revisions of the objects there, and ends with an error that says what was different from the claim.
package main
