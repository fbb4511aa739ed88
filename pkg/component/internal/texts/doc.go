// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package texts puts lists and numbers into messages that fit into conditions and events.
package texts
