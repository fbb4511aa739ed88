// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package archtest keeps the house in order: its test fails if a package of this module is missing from the
// table of rooms, or imports a package that is not strictly below it. It also looks after the documentation: that it
// mentions what it has to, and that its links lead somewhere. It has no code besides its tests.
package archtest
