// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package contents knows what is in objects whatever their kind: how content is copied, how what is stored differs from what was declared, which
// fields an API server does not know, and what the schema of a type adds. It decides nothing, and makes no requests.
package contents
