// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command kinds writes what the packages of typed resources have in common, one file for each kind, from one table: types, builders, mutators with their categories, and
// handlers that only call others. What is particular to a kind is written by hand, beside the generated file.
package main
