// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// pollInterval is the pause between two checks.
const pollInterval = 50 * time.Millisecond

// portAttempts is how often another port is tried if another program took the chosen one before the API server could.
const portAttempts = 5

// errPortTaken means that the API server could not listen because another program has the port.
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
	client, err := kubernetes.NewForConfig(s.bootstrapConfig())
	if err != nil {
		return err
	}
	err = s.poll(ctx, "the API server", func(ctx context.Context) (bool, string) {
		if p.ended() {
			return true, ""
		}
		err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
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

// freePort returns a port that is free right now.
func freePort() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// writeKubeconfigs writes one kubeconfig per program, that of the administrator last.
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
	s.config = config
	return err
}

// startControllers starts controller manager, scheduler and kwok.
func (s *Sandbox) startControllers() error {
	scheduler, err := schedulerArgs(s.layout)
	if err != nil {
		return err
	}
	kwok, err := kwokArgs(s.layout)
	if err != nil {
		return err
	}
	for _, program := range []struct {
		name string
		args []string
	}{
		{programControllerManager, controllerManagerArgs(s.layout)},
		{programKwok, kwok},
		{programScheduler, scheduler},
	} {
		p, err := s.startProgram(program.name, program.args)
		if err != nil {
			return err
		}
		s.watch(p)
	}
	return nil
}

// poll repeats a check until it succeeds. It ends early when a program fails. When the context is done, its error names
// what it waited for, and the last reason.
func (s *Sandbox) poll(ctx context.Context, what string, ready func(context.Context) (bool, string)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, reason := ready(ctx)
		if ok {
			return nil
		}
		select {
		case <-s.failed:
			return s.failure
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (%s)", what, ctx.Err(), reason)
		case <-ticker.C:
		}
	}
}
