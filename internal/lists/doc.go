// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package lists makes the list and watch functions of a reflector from a resource and a selection of its objects.
package lists
