// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Mutants measures what the tests notice. It takes a list of small changes that break the code, makes one at a time, and runs the
// tests that should fail.
//
//	make mutants
//	go run ./internal/mutants -list
//	go run ./internal/mutants -run 'purge|guard' -v
//
// The changes never touch the working tree: they reach the compiler as an overlay (see "go help build"). So a run may be interrupted at
// any time, and the code may be edited meanwhile.
//
// The list is mutants.yaml. An entry names a file, a text that occurs in it exactly once, what replaces the text, and the tests that are to
// fail. Before the first change, the chosen tests run on the code as it is: tests that fail anyway prove nothing.
//
// The exit code is 1 if fewer mutants are noticed than -least demands, in percent. One whose text does not match any more, that does not
// compile, or for which no test is found, counts as not noticed.
package main
