// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// downOptions say which sandboxes to end.
type downOptions struct {
	kubeconfig string
	all        bool
}

func newSandboxDownCommand(s streams) *cobra.Command {
	var options downOptions
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop a sandbox that was started in the background",
		Long: `Stop the sandbox that "clm sandbox up" started with the same --kubeconfig, or all sandboxes, and return when they have stopped.
Prints the path of the kubeconfig of each sandbox that was stopped. It is not an error if there is none.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSandboxDown(command.Context(), s, options)
		},
	}
	addKubeconfigFlag(command, &options.kubeconfig)
	command.Flags().BoolVar(&options.all, "all", false, "stop all sandboxes that run in the background")
	command.MarkFlagsMutuallyExclusive("kubeconfig", "all")
	return command
}

func runSandboxDown(ctx context.Context, s streams, options downOptions) error {
	path, err := kubeconfigPath(options.kubeconfig)
	if err != nil {
		return err
	}
	paths := []string{path}
	if options.all {
		if paths, err = sandbox.Registered(); err != nil {
			return err
		}
	}
	var errs []error
	ended := 0
	for _, path := range paths {
		found, err := sandbox.End(ctx, path)
		errs = append(errs, err)
		if found {
			ended++
			fmt.Fprintln(s.out, path)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if ended == 0 {
		fmt.Fprintln(s.err, "no sandbox was running in the background")
	}
	return nil
}
