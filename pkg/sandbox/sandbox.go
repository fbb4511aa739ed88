// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout limits the time between starting the first program and the readiness of all. On an idle machine, it
// takes some seconds.
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
	client     *kubernetes.Clientset // for the sandbox's own few requests

	stopping chan struct{} // closed when a stop was requested
	stopOnce sync.Once
	working  context.Context // ends when a program has ended without that, which is the cause
	fail     context.CancelCauseFunc

	mu        sync.Mutex
	processes []*process
}

// Start builds the programs if necessary and starts a Kubernetes with them. When it returns, the API server is ready,
// the nodes are schedulable, and the namespace "default" has its service account. Starting has its own timeout,
// building has none; the context ends both. After Start has returned, the context has no effect: the sandbox runs until
// [Sandbox.Stop] or until this process ends.
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
	s := &Sandbox{options: options, programs: programs, stopping: make(chan struct{})}
	s.working, s.fail = context.WithCancelCause(context.Background())
	if err := s.start(ctx); err != nil {
		// The context may be the reason for the failure; stopping must not depend on it.
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
	if !s.options.APIServerOnly {
		if err := s.createObjects(ctx); err != nil {
			return err
		}
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
	s.layout.data = cmp.Or(s.options.DataDir, s.layout.run)
	if err := os.MkdirAll(filepath.Join(s.layout.data, "logs"), 0o700); err != nil {
		return err
	}
	if s.lock, err = lockFile(s.layout.file("lock")); err != nil {
		return fmt.Errorf("using the data folder %s: %w", s.layout.data, err)
	}
	if s.layout.pki, err = newPKI(s.layout.file("pki")); err != nil {
		return fmt.Errorf("creating certificates: %w", err)
	}
	s.kubeconfig = cmp.Or(s.options.KubeconfigPath, s.layout.file("kubeconfig"))
	s.lifeline, err = newLifeline()
	return err
}

// calm makes the API server collect garbage less often: while the heap is small, it may grow to five times its live
// size instead of twice. Otherwise, collections take a third of the time of a busy API server, and developers' machines
// have enough memory. The user's own settings win.
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
			s.fail(p.failure())
		}
	}()
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s *Sandbox) Kubeconfig() string { return s.kubeconfig }

// Config returns a new client configuration for the administrator, with client-go's default rate limits.
func (s *Sandbox) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Failed returns a channel that is closed when a program of the sandbox has ended unexpectedly. The sandbox is then
// unusable, but must still be stopped; [Sandbox.Failure] returns the reason.
func (s *Sandbox) Failed() <-chan struct{} { return s.working.Done() }

// Failure returns why the sandbox has failed, with the program's last log lines; nil if it has not failed.
func (s *Sandbox) Failure() error { return context.Cause(s.working) }

// Stop ends all programs, waits until they are gone, and removes temporary files, including the kubeconfig. It may be
// called again. It returns errors of the context and of removing files.
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
		unlock(s.lock)
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

// Annotations of pods, Jobs and pod templates that change how a pod behaves; see the package documentation.
// Only the value "true" has an effect.
const (
	AnnotationFail       = "sandbox.component-operator.io/fail"
	AnnotationNeverReady = "sandbox.component-operator.io/never-ready"
)

// Version is the version of Kubernetes that the sandbox runs.
const Version = "v1.36.3"

// maxNodes keeps node names, leases and start time within limits.
const maxNodes = 1000

// Options configure [Start].
type Options struct {
	// DataDir contains the data of etcd, the certificate authority, and the programs' logs. A later sandbox in the same
	// folder continues where the earlier one ended; two at the same time are refused. Defaults to a new temporary
	// folder, which is deleted when the sandbox ends, however it ends.
	DataDir string

	// KubeconfigPath is the path of the cluster administrator's kubeconfig, which has mode 0600. Start replaces a file
	// that an earlier sandbox wrote, and fails if any other file exists. The file is removed when the sandbox stops.
	// Defaults to "kubeconfig" in the data folder.
	KubeconfigPath string

	// Nodes is the number of simulated nodes. Defaults to 1. Negative means none.
	Nodes int

	// APIServerOnly leaves out the controllers, the scheduler and the nodes: objects stay as they were written.
	// Defaults to false.
	APIServerOnly bool

	// AuditLog is a file to which the API server appends one JSON event (audit.k8s.io/v1, level Metadata) per completed
	// request. Defaults to none.
	AuditLog string

	// Log receives the progress of building and starting, as text for people. Defaults to nothing.
	Log io.Writer
}

// withDefaults returns the options with absolute paths and all defaults except for DataDir.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	for _, path := range []*string{&o.DataDir, &o.KubeconfigPath, &o.AuditLog} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		errs = append(errs, err)
		*path = absolute
	}
	switch {
	case o.Nodes > maxNodes:
		errs = append(errs, fmt.Errorf("%d nodes are too many; must be at most %d", o.Nodes, maxNodes))
	case o.Nodes < 0 || o.APIServerOnly:
		o.Nodes = 0
	case o.Nodes == 0:
		o.Nodes = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, errors.Join(errs...)
}

// pollInterval is the pause between two checks.
const pollInterval = 50 * time.Millisecond

// portAttempts is the maximum number of ports to try if other programs take the chosen ports first.
const portAttempts = 5

// errPortTaken means that the API server could not listen because another program uses the port.
var errPortTaken = errors.New("another program uses the port")

// startControlPlane starts etcd and the API server side by side and waits until the latter is ready.
func (s *Sandbox) startControlPlane(ctx context.Context) error {
	etcd, err := s.startProgram(programEtcd, etcdArgs(s.layout))
	if err != nil {
		return err
	}
	s.watch(etcd)
	for range portAttempts {
		err = s.startAPIServer(ctx)
		if !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (s *Sandbox) startAPIServer(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	server := "https://127.0.0.1:" + port
	if err := s.writeKubeconfigs(server); err != nil {
		return fmt.Errorf("writing kubeconfigs: %w", err)
	}
	args, err := apiServerArgs(s.layout, port, s.options.AuditLog)
	if err != nil {
		return err
	}
	p, err := s.startProgram(programAPIServer, args)
	if err != nil {
		return err
	}
	err = s.poll(ctx, "the API server", func(ctx context.Context) (bool, string) {
		if p.ended() {
			return true, ""
		}
		err := s.client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return err == nil, fmt.Sprint(err)
	})
	if p.ended() {
		if strings.Contains(p.tail(), "address already in use") {
			return errPortTaken
		}
		return p.failure()
	}
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, p.tail())
	}
	s.watch(p)
	return nil
}

// freePort returns a currently free port.
func freePort() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// writeKubeconfigs writes one kubeconfig per program, and the administrator's last.
func (s *Sandbox) writeKubeconfigs(server string) error {
	for _, program := range []string{programControllerManager, programScheduler, programKwok} {
		if err := s.layout.pki.writeKubeconfig(s.layout.kubeconfig(program), server, program); err != nil {
			return err
		}
	}
	if err := s.layout.pki.writeKubeconfig(s.kubeconfig, server, "admin"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	s.config = config
	s.client, err = kubernetes.NewForConfig(s.bootstrapConfig())
	return err
}

// startControllers starts controller manager, scheduler and kwok.
func (s *Sandbox) startControllers() error {
	for _, program := range []struct {
		name string
		args func(l layout) ([]string, error)
	}{
		{programControllerManager, controllerManagerArgs},
		{programKwok, kwokArgs},
		{programScheduler, schedulerArgs},
	} {
		args, err := program.args(s.layout)
		if err != nil {
			return err
		}
		p, err := s.startProgram(program.name, args)
		if err != nil {
			return err
		}
		s.watch(p)
	}
	return nil
}

// poll repeats a check until it succeeds or a program fails. When the context is done, its error contains what it
// waited for, and the last reason.
func (s *Sandbox) poll(ctx context.Context, what string, ready func(context.Context) (bool, string)) error {
	reason := ""
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (ok bool, err error) {
		if ok, reason = ready(ctx); ok {
			return true, nil
		}
		return false, s.Failure()
	})
	switch failure := s.Failure(); {
	case err == nil:
		return nil
	case failure != nil:
		return failure
	default:
		return fmt.Errorf("waiting for %s: %w (%s)", what, err, reason)
	}
}

// termGrace is how long a command may take to end after SIGTERM.
const termGrace = 10 * time.Second

// Command is a command for [Sandbox.Run].
type Command struct {
	// Args are the command and its arguments; the command is looked up on the PATH of this process.
	Args []string

	// Env is the environment, to which KUBECONFIG is added. Defaults to that of this process.
	Env []string

	// Stdin, Stdout and Stderr default to empty input and discarded output. If Stdin is the terminal and this process
	// is in its foreground, the command is in the foreground while it runs, and only the command gets Ctrl-C.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs a command in a process group of its own with KUBECONFIG set, and returns its exit code, or 128 plus the
// number of the signal that ended it. When the command has ended, Run kills the processes that are left in its group.
//
// When the context is done or the sandbox fails, Run sends SIGTERM to the group, and kills it if the command does not
// end within ten seconds. If this process dies, the group is killed at once. Run returns an error if the command could
// not be run or the sandbox has failed.
func (s *Sandbox) Run(ctx context.Context, command Command) (int, error) {
	if len(command.Args) == 0 {
		return 0, errors.New("no command is given")
	}
	path, err := exec.LookPath(command.Args[0])
	if err != nil {
		return 0, err
	}
	// A separate lifeline can end the command without ending the sandbox.
	line, err := newLifeline()
	if err != nil {
		return 0, err
	}
	defer line.close()
	guard := line.guarded(s.programs[programGuard], "", append([]string{path}, command.Args[1:]...))
	guard.Stdin, guard.Stdout, guard.Stderr = command.Stdin, command.Stdout, command.Stderr
	guard.Env = command.Env
	if guard.Env == nil {
		guard.Env = os.Environ()
	}
	guard.Env = append(guard.Env[:len(guard.Env):len(guard.Env)], "KUBECONFIG="+s.kubeconfig)
	if file, ok := command.Stdin.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		// Only a guard in the foreground can hand over the terminal.
		guard.SysProcAttr = nil
	}
	if err := guard.Start(); err != nil {
		return 0, fmt.Errorf("running %s: %w", command.Args[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- guard.Wait() }()

	select {
	case err = <-done:
	case <-ctx.Done():
		err = terminate(guard.Process, line, done)
	case <-s.Failed():
		_ = terminate(guard.Process, line, done)
		return 0, s.Failure()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("running %s: %w", command.Args[0], err)
	}
	if code := guard.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 0, fmt.Errorf("running %s: its guard exited: %w", command.Args[0], err)
}

// terminate asks the guarded command to end, and kills it after termGrace.
func terminate(guard *os.Process, line *lifeline, done <-chan error) error {
	_ = guard.Signal(syscall.SIGTERM)
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		line.close()
		return <-done
	}
}
