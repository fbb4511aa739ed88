// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package keptfields decides which fields of objects a release leaves to other field managers.
//
// # Contract
//
// A field is kept if another manager owns it, and the manifest has the value that it had in the last revision that was ready and in each recorded one since, or has none in
// all of them: which of these was written last is not certain, and no change of the manifest may be lost. From then on, the manifest of each revision says so: the annotation
// ignore-fields names the field, in addition to those that the rendered manifest names, and the annotation kept-fields lists what was added. The engine knows only the former.
// [Rules.Carry] takes the list from the last recorded revision; a field whose value in the manifest has changed leaves it. So the same sources give the same manifest, whoever has
// changed the field meanwhile.
//
// If no revision was ready, all of them count. An object that one of these revisions does not have has no kept fields: all that its manifest declares is a change.
//
// The functions are pure: they make no requests, do not change what they are given, and return the same for the same. They are safe for concurrent use.
package keptfields
