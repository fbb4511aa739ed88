// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// superviseName is the hidden command that "up" leaves behind.
const superviseName = "supervise"

// kindRegistered is the kind of failure that another supervisor's registration is.
const kindRegistered = "registered"

func newSandboxSuperviseCommand() *cobra.Command {
	var options sandbox.Options
	command := &cobra.Command{
		Use:    superviseName,
		Short:  "Run a sandbox until a signal arrives",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSandboxSupervise(command.Context(), options)
		},
	}
	addStartFlags(command.Flags(), &options)
	addKubeconfigFlag(command, &options.KubeconfigPath)
	return command
}

// superviseArgs is the inverse of the flags of the command.
func superviseArgs(options sandbox.Options) []string {
	return []string{
		"--nodes=" + strconv.Itoa(options.Nodes),
		"--data-dir=" + options.DataDir,
		"--audit-log=" + options.AuditLog,
		"--kubeconfig=" + options.KubeconfigPath,
	}
}

func runSandboxSupervise(ctx context.Context, options sandbox.Options) error {
	reporter, err := NewReporter()
	if err != nil {
		return err
	}
	registration, err := sandbox.Register(options.KubeconfigPath)
	if errors.Is(err, sandbox.ErrRegistered) {
		reporter.Fail(err, kindRegistered)
		return err
	}
	if err != nil {
		reporter.Fail(err, "")
		return err
	}
	defer registration.Release()
	options.Log = reporter
	cluster, err := sandbox.Start(ctx, options)
	if err != nil {
		reporter.Fail(err, "")
		return err
	}
	reporter.Ready()
	select {
	case <-ctx.Done():
	case <-cluster.Failed():
	}
	return errors.Join(cluster.Failure(), cluster.Stop(context.WithoutCancel(ctx)))
}
