// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout bounds the time from the start of the first program to the readiness of all: some seconds on an idle
// machine.
const startTimeout = 3 * time.Minute

// Sandbox is a running Kubernetes. Its methods may be called from several goroutines.
type Sandbox struct {
	options    Options
	layout     layout
	lock       *os.File
	lifeline   *lifeline
	programs   map[string]string
	kubeconfig string
	config     *rest.Config

	stopping chan struct{} // closed when a stop was requested
	stopOnce sync.Once
	failed   chan struct{} // closed when a program has ended without that
	failOnce sync.Once
	failure  error // to be read after failed

	mu        sync.Mutex
	processes []*process
}

// Start builds the programs if need be and starts a Kubernetes with them. When it returns, the API server is ready, the
// nodes are schedulable, and the namespace "default" has its service account. Start has a timeout of its own for
// starting, but none for building; the context ends both. After Start has returned, the context has no effect: the
// sandbox runs until [Sandbox.Stop] or until this process ends.
//
// If a program of Kubernetes cannot start, the error ends with the last lines of its log.
func Start(ctx context.Context, options Options) (*Sandbox, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if options.KubeconfigPath != "" {
		if err := checkKubeconfig(options.KubeconfigPath); err != nil {
			return nil, err
		}
	}
	programs, err := programs(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{options: options, programs: programs, stopping: make(chan struct{}), failed: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		// The context may be the reason of the failure; stopping must not depend on it.
		return nil, errors.Join(fmt.Errorf("starting the sandbox: %w", err), s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.prepare(); err != nil {
		return err
	}
	started := time.Now()
	if err := s.startControlPlane(ctx); err != nil {
		return err
	}
	s.logf("API server ready after %.1fs", time.Since(started).Seconds())
	if err := s.createObjects(ctx); err != nil {
		return err
	}
	if !s.options.APIServerOnly {
		if err := s.startControllers(); err != nil {
			return err
		}
		if err := s.awaitCluster(ctx); err != nil {
			return err
		}
	}
	s.logf("Kubernetes %s ready after %.1fs", Version, time.Since(started).Seconds())
	return nil
}

// prepare creates the folders, locks the data, and issues the certificates.
func (s *Sandbox) prepare() error {
	var err error
	if s.layout.run, err = os.MkdirTemp("", "sandbox-"); err != nil {
		return err
	}
	s.layout.data = s.options.DataDir
	if s.layout.data == "" {
		s.layout.data = s.layout.run
	}
	if err := os.MkdirAll(filepath.Join(s.layout.data, "logs"), 0o700); err != nil {
		return err
	}
	if s.lock, err = lockFile(s.layout.file("lock")); err != nil {
		return fmt.Errorf("using the data folder %s: %w", s.layout.data, err)
	}
	if s.layout.pki, err = newPKI(s.layout.file("pki")); err != nil {
		return fmt.Errorf("creating certificates: %w", err)
	}
	s.kubeconfig = s.options.KubeconfigPath
	if s.kubeconfig == "" {
		s.kubeconfig = s.layout.file("kubeconfig")
	}
	s.lifeline, err = newLifeline()
	return err
}

// calm lets the API server's heap grow to five times its live size, not twice, before it collects garbage, while the
// heap is small and unless the user sets it otherwise: collections take a third of the time of a busy API server, and
// developers' machines have the memory.
func calm(environment []string) []string {
	for name, value := range map[string]string{"GOGC": "400", "GOMEMLIMIT": "4GiB"} {
		if os.Getenv(name) == "" {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

// withoutProxies returns the environment without proxies: the programs of the sandbox only talk to each other and to
// webhooks on this machine, and calls to a Service of the sandbox must not leave it.
func withoutProxies(environment []string) []string {
	proxies := []string{"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(proxies, strings.ToUpper(name))
	})
}

// command returns the command that runs a program below a guard.
func (s *Sandbox) command(name string, args []string) *exec.Cmd {
	command := s.lifeline.guarded(s.programs[programGuard], s.layout.run, append([]string{s.programs[name]}, args...))
	command.Env = withoutProxies(os.Environ())
	if name == programAPIServer {
		command.Env = calm(command.Env)
	}
	return command
}

// startProgram runs a program below a guard and watches it.
func (s *Sandbox) startProgram(name string, args []string) (*process, error) {
	p, err := startProcess(s.command(name, args), name, s.layout.log(name))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
	return p, nil
}

// watch marks the sandbox as failed when a program ends unexpectedly.
func (s *Sandbox) watch(p *process) {
	go func() {
		<-p.done
		select {
		case <-s.stopping:
		default:
			s.failOnce.Do(func() {
				s.failure = p.failure()
				close(s.failed)
			})
		}
	}()
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s *Sandbox) Kubeconfig() string { return s.kubeconfig }

// Config returns a new client configuration of the administrator, with client-go's default rate limits.
func (s *Sandbox) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Failed is closed when a program of the sandbox has ended unexpectedly. The sandbox is then unusable, and must still
// be stopped; [Sandbox.Failure] returns the reason.
func (s *Sandbox) Failed() <-chan struct{} { return s.failed }

// Failure returns why the sandbox has failed, with the last log lines of the program, or nil if it has not.
func (s *Sandbox) Failure() error {
	select {
	case <-s.failed:
		return s.failure
	default:
		return nil
	}
}

// Stop ends all programs, waits until they are gone, and removes temporary files, including the kubeconfig. It may be
// called again. The error is that of the context, or of removing files.
func (s *Sandbox) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		close(s.stopping)
		if s.lifeline != nil {
			s.lifeline.close()
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	var errs []error
	// Remove only this sandbox's kubeconfig: after a crash, a new sandbox may have been started on the same path.
	if s.config != nil && s.ownsKubeconfig() {
		errs = append(errs, os.Remove(s.kubeconfig))
	}
	if s.layout.run != "" {
		errs = append(errs, os.RemoveAll(s.layout.run))
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
	return errors.Join(errs...)
}

func (s *Sandbox) ownsKubeconfig() bool {
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	return err == nil && config.Clusters[contextName] != nil && config.Clusters[contextName].Server == s.config.Host
}

func (s *Sandbox) logf(format string, args ...any) {
	_, _ = io.WriteString(s.options.Log, fmt.Sprintf(format, args...)+"\n")
}
