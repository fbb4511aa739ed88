// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// options are the command line.
type options struct {
	short      bool
	strict     bool
	repeats    int
	json       string
	cpuProfile string
	memProfile string
	run        *regexp.Regexp
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o, os.Stdout, os.Stderr)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "measure less, within three minutes")
	flags.BoolVar(&o.strict, "strict", false, "fail if a bar is missed")
	flags.IntVar(&o.repeats, "n", 0, "how often to measure what is compared with a limit (default 5; 1 with -short)")
	flags.StringVar(&o.json, "json", "bench.json", "write the report to this `file`")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of this process to this `file`")
	flags.StringVar(&o.memProfile, "memprofile", "", "write a heap profile of this process to this `file`, at the end")
	pattern := flags.String("run", "", "measure only the cases whose names match this `regexp`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
	}
	if o.repeats < 0 {
		return o, fmt.Errorf("-n %d: must not be negative", o.repeats)
	}
	if o.repeats == 0 {
		o.repeats = 5
		if o.short {
			o.repeats = 1
		}
	}
	var err error
	if o.run, err = regexp.Compile(*pattern); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	return o, nil
}
