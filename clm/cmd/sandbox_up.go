// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func newSandboxUpCommand(s streams) *cobra.Command {
	options := sandbox.Options{Log: s.err}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox in the background and print the path of its kubeconfig",
		Long: `Start a sandbox in the background and print the path of its kubeconfig when it is ready. It runs until "clm sandbox down".
If a sandbox with that kubeconfig is already running, only the path is printed.`,
		Example: "  export KUBECONFIG=$(clm sandbox up)",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSandboxUp(command.Context(), s, options)
		},
	}
	addStartFlags(command.Flags(), &options)
	addKubeconfigFlag(command, &options.KubeconfigPath)
	return command
}

func addKubeconfigFlag(command *cobra.Command, path *string) {
	command.Flags().StringVar(path, "kubeconfig", "", "path of the kubeconfig, which also names the sandbox (default a fixed one in the user's cache directory)")
}

// kubeconfigPath returns the absolute path, by which processes with other working directories know the sandbox.
func kubeconfigPath(path string) (string, error) {
	if path != "" {
		return filepath.Abs(path)
	}
	cache, err := sandbox.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "kubeconfig"), nil
}

func runSandboxUp(ctx context.Context, s streams, options sandbox.Options) error {
	var err error
	if options.KubeconfigPath, err = kubeconfigPath(options.KubeconfigPath); err != nil {
		return err
	}
	for _, path := range []*string{&options.DataDir, &options.AuditLog} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	// Here the user sees the progress, and can interrupt it.
	if _, err := sandbox.Assets(ctx, s.err); err != nil {
		return err
	}
	log, err := logPath(options.KubeconfigPath)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	err = Launch(ctx, Program{
		Args:     append([]string{program, "sandbox", superviseName}, superviseArgs(options)...),
		LogPath:  log,
		Progress: s.err,
	})
	var failure *FailureError
	if errors.As(err, &failure) && failure.Kind == kindRegistered {
		fmt.Fprintln(s.err, "the sandbox is already running or starting")
		err = nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, options.KubeconfigPath)
	return nil
}

// logPath is that of the supervisor's own log, which holds what it has to say after it has become ready.
func logPath(kubeconfig string) (string, error) {
	cache, err := sandbox.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kubeconfig))
	return filepath.Join(dir, fmt.Sprintf("%016x.log", hash.Sum64())), nil
}
