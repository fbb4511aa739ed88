// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

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

func newSandboxUpCommand(s streams) *cobra.Command {
	options := sandbox.Options{Log: s.err}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox in the background and print the path of its kubeconfig",
		Long: `Start a sandbox in the background and print the path of its kubeconfig when it is ready. It runs until "clm sandbox down".
If a sandbox with that kubeconfig is already running, only the path is printed.`,
		Example: "  export KUBECONFIG=$(clm sandbox up)",
		RunE:    func(command *cobra.Command, _ []string) error { return runSandboxUp(command.Context(), s, options) },
	}
	addStartFlags(command.Flags(), &options)
	addKubeconfigFlag(command, &options.KubeconfigPath)
	return command
}

func addKubeconfigFlag(command *cobra.Command, path *string) {
	command.Flags().StringVar(path, "kubeconfig", "", "path of the kubeconfig, which also names the sandbox (default a fixed one in the user's cache directory)")
}

// kubeconfigPath returns the absolute path of the kubeconfig, which identifies the sandbox in any working directory.
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
	fmt.Fprintln(s.err, "starting Kubernetes", sandbox.Version)
	result, err := supervise(ctx, options)
	switch {
	case err != nil:
		return err
	case result == resultRunning:
		fmt.Fprintln(s.err, "the sandbox is already running or starting")
	case result != resultReady:
		return errors.New(result)
	}
	fmt.Fprintln(s.out, options.KubeconfigPath)
	return nil
}

// logPath is the path of the supervisor's log.
func logPath(kubeconfig string) (string, error) {
	cache, err := sandbox.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%x.log", sha256.Sum256([]byte(kubeconfig)))), nil
}

const (
	// superviseName is the hidden command that "up" leaves running.
	superviseName = "supervise"
	// resultFD is the descriptor of the pipe for the result of the start, which is one line: one of the following, or
	// an error. It is what exec.Cmd gives to the first of its ExtraFiles.
	resultFD      = 3
	resultReady   = "ready"
	resultRunning = "running"
)

// supervise starts the supervisor in a session of its own, without a terminal, and returns its result. If the context
// ends first, it sends SIGTERM to the supervisor and waits until that is gone.
func supervise(ctx context.Context, options sandbox.Options) (result string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	path, err := logPath(options.KubeconfigPath)
	if err != nil {
		return "", err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = read.Close() }()

	command := exec.Command(program, "sandbox", superviseName, "--nodes="+strconv.Itoa(options.Nodes),
		"--data-dir="+options.DataDir, "--audit-log="+options.AuditLog, "--kubeconfig="+options.KubeconfigPath)
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{write}
	command.SysProcAttr = ownSession()
	err = command.Start()
	// Only the supervisor may hold this end, or its death would go unnoticed.
	_ = write.Close()
	if err != nil {
		return "", fmt.Errorf("starting %s: %w", program, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	raw, err := io.ReadAll(read)
	if !stop() {
		_ = command.Wait()
		return "", ctx.Err()
	}
	if result = string(raw); result == resultReady {
		return result, command.Process.Release()
	}
	_ = command.Wait()
	if err == nil && result == "" {
		err = fmt.Errorf("the sandbox ended without an error message; see %s", path)
	}
	return result, err
}

func newSandboxSuperviseCommand(s streams) *cobra.Command {
	options := sandbox.Options{Log: s.err}
	command := &cobra.Command{
		Use:    superviseName,
		Short:  "Run a sandbox until a signal arrives",
		Hidden: true,
		RunE:   func(command *cobra.Command, _ []string) error { return runSandboxSupervise(command.Context(), options) },
	}
	addStartFlags(command.Flags(), &options)
	addKubeconfigFlag(command, &options.KubeconfigPath)
	return command
}

func runSandboxSupervise(ctx context.Context, options sandbox.Options) error {
	pipe := os.NewFile(resultFD, "result")
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return errors.New("only clm itself runs this command")
	}
	closeOnExec(pipe)
	registration, err := sandbox.Register(options.KubeconfigPath)
	var cluster *sandbox.Sandbox
	if err == nil {
		// Until it is gone completely, other processes can find and end the sandbox.
		defer registration.Release()
		cluster, err = sandbox.Start(ctx, options)
	}
	result := resultReady
	switch {
	case errors.Is(err, sandbox.ErrRegistered):
		result = resultRunning
	case err != nil:
		result = err.Error()
	}
	// The process that started this one may be gone.
	_, _ = pipe.WriteString(result)
	_ = pipe.Close()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-cluster.Failed():
	}
	return errors.Join(cluster.Failure(), cluster.Stop(context.WithoutCancel(ctx)))
}

func newSandboxDownCommand(s streams) *cobra.Command {
	var kubeconfig string
	var all bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop a sandbox that was started in the background",
		Long: `Stop the sandbox that "clm sandbox up" started with the same --kubeconfig, or all sandboxes, and return when they have stopped.
Prints the path of the kubeconfig of each sandbox that was stopped. It is not an error if there is none.`,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSandboxDown(command.Context(), s, kubeconfig, all)
		},
	}
	addKubeconfigFlag(command, &kubeconfig)
	command.Flags().BoolVar(&all, "all", false, "stop all sandboxes that run in the background")
	command.MarkFlagsMutuallyExclusive("kubeconfig", "all")
	return command
}

func runSandboxDown(ctx context.Context, s streams, kubeconfig string, all bool) error {
	path, err := kubeconfigPath(kubeconfig)
	if err != nil {
		return err
	}
	paths := []string{path}
	if all {
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
