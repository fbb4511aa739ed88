// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// stopTimeout bounds the clean-up, which happens after the context of the program has ended.
const stopTimeout = 30 * time.Second

func main() {
	verbose := flag.Bool("v", false, "show the log of the operator")
	flag.Parse()

	logs := &tail{}
	setUpLogging(logs, *verbose)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, newScreen(os.Stdout, os.Getenv))
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		if !*verbose && !interrupted {
			fmt.Fprintf(os.Stderr, "\nThe last log lines of the operator:\n%s", logs)
		}
		fmt.Fprintln(os.Stderr, "demo: failed:", err)
		os.Exit(1)
	}
}

// run starts a sandbox, plays the demo in it, and stops the sandbox even if the demo fails.
func run(ctx context.Context, screen *screen) (err error) {
	screen.Line("Starting Kubernetes %s; the first time, it is built, which takes a few minutes.", sandbox.Version)
	started := time.Now()
	box, err := sandbox.Start(ctx, sandbox.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, box.Stop(ctx))
	}()
	screen.Line("It runs, after %s. To watch from another terminal: export KUBECONFIG=%s", round(time.Since(started)), box.Kubeconfig())
	return play(ctx, box.Config(), screen)
}

// setUpLogging sends the log of the operator and of its libraries to the standard error if verbose, and to the tail
// otherwise.
func setUpLogging(logs io.Writer, verbose bool) {
	if verbose {
		logs = os.Stderr
	}
	logger := logr.FromSlogHandler(slog.NewTextHandler(logs, nil))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}
