// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func newSandboxCommand(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "sandbox",
		Short: "Run a real Kubernetes control plane on this machine",
		Long: `Run a real Kubernetes control plane on this machine, for tests and experiments.

It consists of etcd, the API server, the controllers and the scheduler of Kubernetes ` + sandbox.Version + `, built from source the
first time they are needed. That takes a few minutes and needs Go, but no containers, no downloaded binaries and no cluster.

Nodes are simulated: no image is pulled and no container runs. Pods become ready at once, the pods of Jobs succeed.
Annotations change that, on pods, on pod templates, and (the first one) on Jobs:

    ` + sandbox.AnnotationFail + `: "true"         the pod fails
    ` + sandbox.AnnotationNeverReady + `: "true"  the pod runs, but never becomes ready

Everything listens on 127.0.0.1 only. Any number of sandboxes can run at the same time.`,
		Args: cobra.NoArgs,
	}
	command.AddCommand(
		newSandboxUpCommand(s),
		newSandboxDownCommand(s),
		newSandboxRunCommand(s),
		newSandboxAssetsCommand(s),
		newSandboxSuperviseCommand(s),
	)
	return command
}

// addStartFlags declares the flags of all commands that start a sandbox.
func addStartFlags(flags *pflag.FlagSet, options *sandbox.Options) {
	flags.IntVar(&options.Nodes, "nodes", 1, "number of simulated nodes; negative for none")
	flags.StringVar(&options.DataDir, "data-dir", "", "directory for the data and logs of the cluster (default a temporary one that is deleted at the end)")
	flags.StringVar(&options.AuditLog, "audit-log", "", "file to which the API server writes one line of JSON per request (default none)")
}

func newSandboxAssetsCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Print the path of the Kubernetes binaries",
		Long: `Print the path of the directory with the Kubernetes binaries, and build them first if necessary.

Tools that look for etcd and kube-apiserver in KUBEBUILDER_ASSETS, such as envtest, find them there:

    KUBEBUILDER_ASSETS=$(clm sandbox assets) go test ./...

If KUBEBUILDER_ASSETS is set and names a directory with all binaries, that path is printed.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			dir, err := sandbox.Assets(command.Context(), s.err)
			if err != nil {
				return err
			}
			fmt.Fprintln(s.out, dir)
			return nil
		},
	}
}

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
