// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package grading derives how well an object does its job from how far it is, for kinds that know nothing more about it.
package grading
