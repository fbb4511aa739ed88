// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/pkg/sandbox"
)

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
			return runSandboxAssets(command.Context(), s)
		},
	}
}

func runSandboxAssets(ctx context.Context, s streams) error {
	dir, err := sandbox.Assets(ctx, s.err)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, dir)
	return nil
}
