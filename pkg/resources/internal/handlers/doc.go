// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package handlers has what the default handlers of several kinds share.
package handlers
