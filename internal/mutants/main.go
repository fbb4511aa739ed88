// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Mutants measures what the tests notice. It takes a list of small changes that break the code, makes one at a time,
// and runs the tests that should fail.
//
//	make mutants
//	go run ./internal/mutants -list
//	go run ./internal/mutants -run 'adopt|hook' -v
//
// The list is mutants.yaml. The working tree is not modified: the compiler gets each change as an overlay (see "go help
// build"). So a run may be interrupted, and files may be edited meanwhile. Before the first change, the chosen tests
// run on the unchanged code: tests that fail anyway prove nothing.
//
// The exit code is 1 if less than 95 % of the mutants are noticed. Mutants that do not fit the code, do not compile, or
// have no test count as not noticed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// demanded is the percentage of mutants that must be noticed.
const demanded = 95

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	os.Exit(code)
}

// run returns the exit code: 1 if too few mutants are noticed, 2 with an error.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	names := flags.String("run", "", "take only mutants whose name matches this regular expression")
	listing := flags.Bool("list", false, "only print the mutants, and which of them do not fit the code")
	verbose := flags.Bool("v", false, "print the output of the tests")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	chosen, err := read(*names)
	if err != nil {
		return 2, err
	}
	if *listing {
		return list(out, chosen), nil
	}
	l := &lab{log: io.Discard}
	if *verbose {
		l.log = out
	}
	return measure(ctx, l, out, chosen)
}

// measure tries the mutants, and prints what was noticed.
func measure(ctx context.Context, l *lab, out io.Writer, chosen []mutant) (int, error) {
	broken := l.baseline(ctx, chosen)
	count := 0
	var others []string
	for _, m := range chosen {
		start := time.Now()
		verdict, detail := failing, "these tests also fail without the change"
		if !broken[m.target()] {
			verdict, detail = l.try(ctx, m)
		}
		if ctx.Err() != nil {
			return 2, errors.New("interrupted")
		}
		fmt.Fprintf(out, "%-16s %5.1fs  %-45s %s\n", verdict, time.Since(start).Seconds(), m.Name, detail)
		if verdict == noticed {
			count++
		} else {
			others = append(others, m.Name)
		}
	}
	percent := 100 * float64(count) / float64(len(chosen))
	fmt.Fprintf(out, "\n%d of %d noticed (%.1f %%; demanded are %d %%)\n", count, len(chosen), percent, demanded)
	if len(others) > 0 {
		fmt.Fprintln(out, "Not noticed:", strings.Join(others, ", "))
	}
	if percent < demanded {
		return 1, nil
	}
	return 0, nil
}

// list prints the mutants and returns the exit code: 1 if one of them does not fit the code.
func list(out io.Writer, chosen []mutant) int {
	misfits := 0
	for _, m := range chosen {
		verdict, detail := "fits", m.Package+" "+m.Function
		if _, _, err := m.apply(); err != nil {
			misfits++
			verdict, detail = misfit, err.Error()
		}
		fmt.Fprintf(out, "%-16s %-45s %s\n", verdict, m.Name, detail)
	}
	fmt.Fprintf(out, "\n%d mutants, %d do not fit the code\n", len(chosen), misfits)
	return min(misfits, 1)
}
