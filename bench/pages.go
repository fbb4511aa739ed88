// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pages measures what clm ui sends about a release with many dependents: the first content of its page, and the next one
// after a dependent was deleted. The limit of the first is to list the dependents.
func pages(ctx context.Context, l *lab) (figures []figure, err error) {
	folder, err := l.tempDir()
	if err != nil {
		return nil, err
	}
	count := pick(l, 1000, 10000)
	if err := applyMany(ctx, l, folder, count); err != nil {
		return nil, err
	}
	ui, err := startPages(ctx, l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ui.stop()) }()
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := l.bare.client.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(l.namespace)); err != nil {
		return nil, err
	}
	limit := time.Since(began)
	began = time.Now()
	stream, err := ui.get(ctx, "/o/releases/"+l.namespace+"/many/tree/stream")
	if err != nil {
		return nil, err
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	await := func(text string) error {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return nil
			}
		}
		return errors.Join(fmt.Errorf("the page does not show %q", text), lines.Err())
	}
	if err := await("ready</span>"); err != nil {
		return nil, err
	}
	first := time.Since(began)
	var updates []time.Duration
	for i := range pick(l, 3, 20) {
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: fmt.Sprintf("part-%05d", i)}}
		if err := l.bench.client.Delete(ctx, object); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := await(fmt.Sprintf("%d not ready", i+1)); err != nil {
			return nil, err
		}
		updates = append(updates, time.Since(began))
	}
	return []figure{
		speed(fmt.Sprintf("%d dependents, first content of a page", count), []time.Duration{first}, []time.Duration{limit}).atMost(barValue, 1000),
		latency("the next content after a deletion", updates).atMost(barValue, 100),
	}, nil
}

// applyMany applies a release of ConfigMaps in four waves.
func applyMany(ctx context.Context, l *lab, folder string, count int) error {
	source := filepath.Join(folder, "many.yaml")
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: part-%05d, annotations: {clm.cs.sap.com/apply-order: %q}}}\n", i, fmt.Sprint(i*4/count))
	}
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		return err
	}
	_, _, err := runProgram(ctx, l.kubeconfig, "clm", "apply", "many", source, "--yes", "--namespace", l.namespace)
	return err
}

// runningPages is clm ui, as a process.
type runningPages struct {
	command *exec.Cmd
	client  http.Client
	base    string
}

func startPages(ctx context.Context, l *lab) (*runningPages, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for clm: %w", err)
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "clm"), "ui", "--namespace", l.namespace)
	command.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig)
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting clm ui: %w", err)
	}
	jar, _ := cookiejar.New(nil) // never fails
	p := &runningPages{command: command, client: http.Client{Jar: jar, Transport: &http.Transport{}}}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		p.base, _, _ = strings.Cut(address, "/login")
		var opened *http.Response
		if opened, err = p.get(ctx, strings.TrimSpace(strings.TrimPrefix(address, p.base))); err == nil {
			err = opened.Body.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the pages: %w", err), p.stop())
	}
	return p, nil
}

func (p *runningPages) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return p.client.Do(request)
}

// stop ends the process as Ctrl-C does.
func (p *runningPages) stop() error {
	p.client.CloseIdleConnections()
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if _, interrupted := errors.AsType[*exec.ExitError](p.command.Wait()); !interrupted {
		return errors.New("clm ui has ended by itself")
	}
	return nil
}
