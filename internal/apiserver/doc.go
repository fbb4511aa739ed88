// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver interprets the answers of an API server, and makes patches that it refuses if the object has
// changed.
package apiserver
