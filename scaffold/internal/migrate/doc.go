// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package migrate moves the project of an operator from SAP's component-operator-runtime to this one.
//
// # Contract
//
// All changes are made in a copy of the project beside it: import paths, requirements, generated code. The project itself changes in one short step at
// the end, which is undone if it fails. So a project that could not be moved is as it was, also after an interruption.
//
// What the move cannot decide becomes a finding, with file and line: names that this runtime does not have, and leftovers in files other than Go.
package migrate
