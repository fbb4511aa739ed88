// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package contents reads what an operator is built around: a chart, or a kustomization. It finds out what the project
// needs to know of it: the types of its values, a sample, and the rights for what it renders.
//
// # Contract
//
// The result can be embedded into a Go program, and renders with the values of the sample. Everything else is
// refused, with the reason. Nothing is written.
//
// The files are not trusted: repositories of version control systems, and links that leave the folder,
// are refused. Go files are not, so the project has the go command ignore the folder. Notes and names are single lines
// without control characters, and otherwise as they were found: whoever writes them to a file escapes them.
package contents
