// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package conflicts tells writes that came too late from writes that are refused for another reason with the same status code, 409.
// The former are worth another look at the object and another attempt, the latter are not: their reason must be shown.
package conflicts
