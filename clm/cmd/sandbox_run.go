// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func newSandboxRunCommand(s streams) *cobra.Command {
	options := sandbox.Options{Log: s.err}
	command := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command with a temporary sandbox",
		Long: `Start a sandbox, run the command with KUBECONFIG set to it, stop the sandbox, and exit with the command's exit code
(128 plus the signal number if a signal killed it).

When clm exits, for whatever reason, the sandbox and the command are stopped, too, together with everything in the command's process group.`,
		Example: "  clm sandbox run -- kubectl get nodes",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return runSandboxRun(command.Context(), s, options, args)
		},
	}
	// Flags after the command are the command's.
	command.Flags().SetInterspersed(false)
	addStartFlags(command.Flags(), &options)
	return command
}

func runSandboxRun(ctx context.Context, s streams, options sandbox.Options, args []string) (err error) {
	// Report a typo before starting the sandbox.
	if _, err := exec.LookPath(args[0]); err != nil {
		return err
	}
	cluster, err := sandbox.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx))) }()
	code, err := cluster.Run(ctx, sandbox.Command{Args: args, Stdin: s.in, Stdout: s.out, Stderr: s.err})
	if err != nil {
		return err
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}
