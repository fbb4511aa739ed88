// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package processor

// PeakMemory is not known.
func PeakMemory(int) int64 { return 0 }
