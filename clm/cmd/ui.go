// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/ui"
)

func newUICommand(e *environment) *cobra.Command {
	all, changes := false, false
	command := &cobra.Command{
		Use:   "ui",
		Short: "Show releases and components in a browser",
		Long: `Serve web pages about releases, and about components of operators that are made with component-operator-runtime, until interrupted. They show waves and
what these wait for, the timeline of the last operation, events, logs, drift, history, values and manifests. Open pages update by themselves.

clm prints an address with a token. It can be opened only on this machine. The pages use the permissions of your kubeconfig. Values of Secrets are masked.

The pages are read-only. With --allow-changes, you can also correct drift, roll back, delete a release, and apply a saved plan (clm plan --out). Each change is
first shown as a plan. clm then does exactly that, or nothing.`,
		Example: "  clm ui -n shop\n  clm ui -A --allow-changes",
		RunE: func(command *cobra.Command, _ []string) error {
			return e.withScope(command.Context(), all, func(s *runner.Connection, namespace string) error {
				return serveUI(command.Context(), e, ui.Options{
					Connection: s, Namespace: namespace, Context: e.context(), AllowChanges: changes,
					Changes: operation.Options{Limits: runner.Limits{Timeout: defaultTimeout}, HistoryMax: defaultHistory, HistoryMaxBytes: defaultHistoryBytes},
				})
			})
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the releases and components in all namespaces")
	command.Flags().BoolVar(&changes, "allow-changes", false, "allow correcting drift, rolling back, deleting releases, and applying saved plans")
	return command
}

// serveUI serves the pages on a free port of the loopback address.
func serveUI(ctx context.Context, e *environment, options ui.Options) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving pages: %w", err)
	}
	err = ui.Serve(ctx, listener, options, func(url string) {
		fmt.Fprintln(e.out, url)
		fmt.Fprintln(e.err, "Open this address in a browser. Press Ctrl-C to stop.")
	})
	return interrupted(ctx, err)
}
