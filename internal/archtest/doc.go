// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package archtest enforces the architecture: its test fails if a package of this module is missing from the table of
// rooms, or imports a package that is not strictly below it. It also checks that the documentation mentions everything
// required, and that its links work. It has no code besides its tests.
package archtest
