// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command demo runs the parcel operator in a sandbox and plays what happens in the life of a component: it is created
// in waves, its drift is corrected, it is changed, its deletion is blocked, and finally it is deleted.
//
// It does not rely on what the operator reports. It watches the API server itself, checks its claims against the
// resource versions of the objects, and ends with an error if a claim is wrong.
package main
