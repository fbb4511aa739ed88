// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package lists makes of a resource, and of what is selected of its objects, that which reflectors list and watch.
package lists
