// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generatortest tests generators against golden files, without a cluster.
//
// [Run] renders a table of cases with a generator (and its transformers), and compares the objects of each case with a
// file in the folder testdata/golden. The flag -generatortest.update writes the files instead:
//
//	go test ./pkg/operator -generatortest.update
//
// Review the files like any other change of code. Run also checks these rules for all cases:
//
//   - each object has an apiVersion, a kind and a name, and no two of them are the same;
//   - the annotations of the reconciler are known, and have allowed values;
//   - generating twice yields the same; a case may except random values;
//   - the parameters are not changed.
//
// [Matrix] does the same for a function that returns typed resources: for each version and case, with an error for
// mutations that are never on.
//
// Import the package in tests only: it defines a flag of the test program.
package generatortest
