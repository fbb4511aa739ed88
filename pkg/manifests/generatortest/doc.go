// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generatortest tests generators against golden files, without a cluster.
//
// [Run] lets a generator (with its transformers, if it has any) render a table of cases, and compares the objects of each
// case with a file in the folder testdata/golden. The flag -generatortest.update writes the files instead:
//
//	go test ./pkg/operator -generatortest.update
//
// What is in the files is for the author to review, as any other change of code. What is right in any case is checked as well:
//
//   - each object has an apiVersion, a kind and a name, and no two of them are the same;
//   - the annotations of the reconciler are known, and have values that it accepts;
//   - generating twice yields the same, even if the objects of the first time were changed by their owner;
//   - the parameters are not changed.
//
// The package is made for tests only: it defines a flag of the test program.
package generatortest
