// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package relay carries panics from goroutines to the one that waits for them.
//
// # Contract
//
// A panic in a goroutine ends the process, even if the goroutine that waits for it would recover. Code that runs work in goroutines and waits for all of them catches their
// panics with a Carrier. When all have ended, it panics itself, so that its caller can recover.
package relay
