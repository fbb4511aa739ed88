// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// stopTimeout bounds the clean-up, which happens after the context of the program has ended.
const stopTimeout = 30 * time.Second

// A benchmark is one thing to measure. Its error says that it could not be measured; figures are reported also then.
type benchmark struct {
	name    string
	measure func(ctx context.Context, l *lab) ([]measured.Figure, error)
}

// run starts a sandbox, measures in it, reports, and stops it, whatever happens in between.
func run(ctx context.Context, o options, out, messages io.Writer) (err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	p := progress.New(messages)
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	log := filepath.Join(folder, "audit.log")
	// Nobody but the operator is to work on the API server: controllers would take part of its time.
	box, err := sandbox.Start(ctx, sandbox.Options{APIServerOnly: true, AuditLog: log, Log: p})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, box.Stop(ctx))
	}()
	audit, err := openAuditLog(log)
	if err != nil {
		return err
	}
	defer audit.file.Close()
	kubernetes, err := version(box.Config())
	if err != nil {
		return err
	}
	r := measured.NewReport(ctx, kubernetes, o.repeats, o.short)
	stop, err := startProfile(o.cpuProfile)
	if err != nil {
		return err
	}
	measureAll(ctx, r, runner{config: box.Config(), audit: audit, progress: p, options: o})
	stop()
	return errors.Join(finish(r, o, out), box.Failure())
}

// version asks the API server for its version: it may be another one than that of the sandbox.
func version(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	return info.GitVersion, nil
}

// finish tells the outcome.
func finish(r *measured.Report, o options, out io.Writer) error {
	r.Print(out)
	errs := []error{r.WriteJSON(o.json), writeHeapProfile(o.memProfile)}
	if len(r.Failures) > 0 {
		errs = append(errs, fmt.Errorf("%d cases could not be measured", len(r.Failures)))
	}
	if missed := r.Missed(); o.strict && missed > 0 {
		errs = append(errs, fmt.Errorf("%d bars were missed", missed))
	}
	return errors.Join(errs...)
}

// A runner has what all cases have in common.
type runner struct {
	config   *rest.Config
	audit    *auditLog
	progress *progress.Progress
	options  options
}

// measureAll measures the cases that were asked for, one after the other. One that fails does not keep the others from being
// measured.
func measureAll(ctx context.Context, r *measured.Report, with runner) {
	for _, b := range benchmarks() {
		if ctx.Err() != nil {
			r.Add(b.name, nil, context.Cause(ctx))
			return
		}
		if !with.options.run.MatchString(b.name) {
			continue
		}
		with.progress.Say("%s", b.name)
		figures, err := with.measure(ctx, b)
		if err != nil {
			with.progress.Say("%s: %v", b.name, err)
		}
		r.Add(b.name, figures, err)
	}
}

func (r runner) measure(ctx context.Context, b benchmark) (figures []measured.Figure, err error) {
	l, err := newLab(ctx, r.config, b.name, r.progress, r.options)
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitLimit)
		defer cancel()
		err = errors.Join(err, l.close(ctx), r.audit.checkAll(ctx, l.connections))
	}()
	// What earlier cases have left in memory is not to be collected at the cost of this one.
	runtime.GC()
	return b.measure(ctx, l)
}

func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating the CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the CPU profile: %w", err), file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

func writeHeapProfile(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("creating the heap profile: %w", err)
	}
	defer file.Close()
	runtime.GC()
	if err := pprof.WriteHeapProfile(file); err != nil {
		return fmt.Errorf("writing the heap profile: %w", err)
	}
	return nil
}
