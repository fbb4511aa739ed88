// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
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
		newSandboxSuperviseCommand(),
	)
	return command
}

// addStartFlags declares the flags of all commands that start a sandbox.
func addStartFlags(flags *pflag.FlagSet, options *sandbox.Options) {
	flags.IntVar(&options.Nodes, "nodes", 1, "number of simulated nodes; negative for none")
	flags.StringVar(&options.DataDir, "data-dir", "", "directory for the data and logs of the cluster (default a temporary one that is deleted at the end)")
	flags.StringVar(&options.AuditLog, "audit-log", "", "file to which the API server writes one line of JSON per request (default none)")
}
