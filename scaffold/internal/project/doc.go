// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package project makes the project of an operator: it checks the options, renders the templates into a tree of files,
// builds what is generated from these, and puts the result into place.
//
// # Contract
//
// Options.Complete checks everything that can be known without writing: after it, Render fails only because of a defect
// of the templates. Equal options yield equal trees. Create works in a temporary folder beside the destination and
// renames it at the end. After an interrupt or a failure the destination is as it was; only a process that
// is killed leaves the temporary folder, whose name says what it is.
//
// LoadContents reads what an operator is built around: a chart, or a kustomization, which can be embedded into a Go program
// and renders with the values of the sample. Everything else is refused, with the reason. The files are not trusted:
// repositories of version control systems, and links that leave the folder, are refused. Go files are not, so the project
// has the go command ignore the folder. Notes and names are single lines without control characters, and otherwise as they
// were found: whoever writes them to a file escapes them.
package project
