// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package relay carries panics from goroutines to the one that waits for them.
//
// # Contract
//
// A panic in a goroutine ends the process, wherever the goroutine that waits for it would recover. What runs work in goroutines, and returns when all of it is done, has a Carrier
// catch panics there, and panics itself when all goroutines have ended.
package relay
