// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package steps begins and ends the steps of a wave: it asks guards, completes late manifests, and extracts data of objects that were applied. It calls
// the behaviors of objects from one goroutine, in the order of the steps.
package steps
