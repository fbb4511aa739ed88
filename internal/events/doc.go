// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package events drops repeated events. A reconciler emits the same event about an
// object in each pass; users want to read it once.
package events
