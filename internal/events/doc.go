// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package events keeps repetitions of events away from the API server. A reconciler says the same about an
// object each time it looks at it; people want to read it once.
package events
