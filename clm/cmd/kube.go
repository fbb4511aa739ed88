// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// kube is the cluster that the flags of the command line lead to.
type kube struct {
	flags *genericclioptions.ConfigFlags
	// maxConcurrency bounds the concurrent requests about dependents; 0 means the default of the engine.
	maxConcurrency int
	// verbosity is that of kubectl; errOut gets what it asks for.
	verbosity int
	errOut    io.Writer
	// started is when the command began.
	started time.Time
}

func newKube(flags *pflag.FlagSet, errOut io.Writer) *kube {
	k := &kube{flags: genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(-1), errOut: errOut, started: time.Now()}
	// Types are discovered as they are needed; nothing is kept in files.
	k.flags.CacheDir = nil
	k.flags.AddFlags(flags)
	flags.Var(number(&k.maxConcurrency, 0), "max-concurrency",
		"maximum `number` of concurrent requests about dependents; 0 means 16")
	flags.VarP(number(&k.verbosity, 0), "v", "v", "`level` of verbosity, as in kubectl: 6 logs the requests to standard error, 7 also their headers, 9 also curl commands")
	return k
}

// namespace is that of the flag, of the context, or "default".
func (k *kube) namespace() (string, error) {
	namespace, _, err := k.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return "", fmt.Errorf("flag --namespace: %q is not a valid namespace name: %s", namespace, strings.Join(problems, ", "))
	}
	return namespace, nil
}

// context is the name of the context of the kubeconfig that is used; empty if there is none, as within a cluster.
func (k *kube) context() string {
	if given := *k.flags.Context; given != "" {
		return given
	}
	config, err := k.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return config.CurrentContext
}

// connection connects to the cluster, and shows operations by the printer.
func (k *kube) connection(printer display.Printer) (*runner.Connection, error) {
	config, err := k.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The server says when it has enough.
	config.QPS = -1
	config.UserAgent = "clm"
	return runner.Open(runner.Options{
		Config: config, Holder: holder(), Started: k.started, Printer: printer, MaxConcurrency: k.maxConcurrency, Log: k.errOut, Verbosity: k.verbosity,
	})
}

// holder names this process to other processes that change the same release.
func holder() string {
	name, host := "unknown", "unknown"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	if found, err := os.Hostname(); err == nil {
		host = found
	}
	return fmt.Sprintf("%s@%s/%d", name, host, os.Getpid())
}
