// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command clm is the command line around component operators. "clm help" says what it can do.
package main
