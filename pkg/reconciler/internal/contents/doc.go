// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package contents handles the content of objects of any kind: it copies and compares content, finds fields that an API server does not know, and
// applies the defaults of a schema. It decides nothing, and makes no requests.
package contents
