// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package operator defines what a program that runs one or more component operators needs to know about each of
// them.
package operator
