// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the pages of the website about the commands of clm, from what these say of themselves.
package main
