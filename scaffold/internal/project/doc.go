// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package project creates the project of an operator: it checks the options, renders the templates into a tree of
// files, generates further files from them, and moves the result into place.
//
// # Contract
//
// Options.Complete checks everything that can be checked without writing: after it, Render fails only because of a
// defect in the templates. Equal options yield equal trees. Fill works in a temporary folder beside the destination and
// moves its content at the end. After an interrupt or a failure, the destination is unchanged; only a killed process
// leaves the temporary folder, whose name contains .scaffold-.
//
// LoadContents reads the contents of an operator: a chart or kustomization that a Go program can embed, and that
// renders with the values of the sample. Everything else is refused, with the reason. The files are not trusted:
// repositories of version control systems, and links out of the folder, are refused. Go files are allowed, so the
// project makes the go command ignore the folder. Notes and names are single lines without control characters, but not
// escaped: code that writes them to a file must escape them.
package project
