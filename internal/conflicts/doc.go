// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package conflicts distinguishes writes of an outdated object from writes that are refused for another reason with the same status code, 409.
// After the former, read the object and try again; after the latter, show the reason.
package conflicts
