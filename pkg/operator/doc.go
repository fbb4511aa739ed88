// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package operator defines the interface of a component operator to the program that runs it, alone or together with
// others.
package operator
