// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package yamltext lays one YAML document over another one, and compares documents by their keys. It takes scalars for what is written: no number, date or
// boolean is decoded and written again. So it does not matter whether the reader of the result knows YAML 1.1 or 1.2.
package yamltext
