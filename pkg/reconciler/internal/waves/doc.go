// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package waves applies, corrects, purges and deletes the dependents of one call, wave by wave. It goes as far as it
// can without waiting.
package waves
