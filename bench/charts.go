// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/processor"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/stackchart"
	"github.com/component-operator/runtime/pkg/sandbox"
)

const chartGroup = "stack.bench.component-operator.io"

// A chartTool is a command line that installs charts: clm, or Helm's own.
type chartTool struct {
	name string
	// commands by step; SOURCE is the chart.
	commands map[string][]string
}

// The steps that are compared, in their order.
const (
	stepTemplate    = "template"
	stepInstall     = "install"
	stepUpgrade     = "upgrade"
	stepDelete      = "delete"
	stepDefinitions = "install definitions"
	stepFew         = "install without definitions"
	stepDeleteFew   = "delete without definitions"
	stepEnd         = "delete definitions"
)

// chartPause is how long the servers get before a step. After the deletion of many types, they are busy for a while.
const chartPause = 3 * time.Second

// chartSteps are those that need a cluster.
var chartSteps = []string{stepInstall, stepUpgrade, stepDelete, stepDefinitions, stepFew, stepDeleteFew, stepEnd}

func chartTools() []chartTool {
	clm := chartTool{name: "clm", commands: map[string][]string{
		stepTemplate:    {"template", "stack", "CHART"},
		stepInstall:     {"apply", "stack", "CHART"},
		stepUpgrade:     {"apply", "stack", "CHART", "--set", "replicas=2"},
		stepDelete:      {"delete", "stack", "--yes"},
		stepDefinitions: {"apply", "definitions", "CHART-definitions", "--set", "webhook.enabled=false"},
		stepFew:         {"apply", "stack", "CHART", "--set", "definitions.enabled=false"},
		stepDeleteFew:   {"delete", "stack", "--yes"},
		stepEnd:         {"delete", "definitions", "--yes"},
	}}
	helm := map[string][]string{
		stepTemplate:    {"template", "stack", "CHART", "--include-crds"},
		stepInstall:     {"install", "stack", "CHART", "--wait"},
		stepUpgrade:     {"upgrade", "stack", "CHART", "--wait", "--set", "replicas=2"},
		stepDelete:      {"uninstall", "stack", "--wait"},
		stepDefinitions: {"install", "definitions", "CHART-definitions", "--wait", "--set", "webhook.enabled=false"},
		stepFew:         {"install", "stack", "CHART", "--wait", "--set", "definitions.enabled=false"},
		stepDeleteFew:   {"uninstall", "stack", "--wait"},
		stepEnd:         {"uninstall", "definitions", "--wait"},
	}
	return []chartTool{clm, {name: "helm3", commands: helm}, {name: "helm4", commands: helm}}
}

// chartRun is what the steps of one tool took, in milliseconds and MiB.
type chartRun struct{ times, memory map[string]float64 }

func (r chartRun) took(step string, took time.Duration, memory int64) {
	r.times[step], r.memory[step] = measured.Milliseconds([]time.Duration{took})[0], float64(memory)/(1<<20)
}

// charts compares clm with Helm 3 and Helm 4, with a chart of the size and shape of a monitoring stack in a sandbox of its own, whose controllers make its pods ready. The limit of
// a step is what the better of the two needs. Helm leaves CustomResourceDefinitions behind; a bare client deletes these, and that time is added to that of its uninstallation.
func charts(ctx context.Context, l *lab) ([]measured.Figure, error) {
	t := &chartTrial{lab: l}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	rendered, err := t.render(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.startCluster(ctx); err != nil {
		return nil, err
	}
	runs := map[string][]chartRun{}
	for i := range min(l.repeats, 3) {
		for _, tool := range chartTools() {
			l.Tick("%s: %s, %d of %d", l.name, tool.name, i+1, min(l.repeats, 3))
			run, err := t.run(ctx, tool)
			if err != nil {
				return nil, err
			}
			runs[tool.name] = append(runs[tool.name], run)
		}
	}
	var figures []measured.Figure
	for _, bar := range []struct {
		step         string
		time, memory float64 // ratios; 0 is none
	}{{stepTemplate, 1.2, 1.2}, {stepInstall, 1, 1.2}, {stepUpgrade, 1, 1.2}, {stepDelete, 0, 0}, {stepDefinitions, 1, 1.3}, {stepDeleteFew, 1.2, 1.2}} {
		runs := runs
		if bar.step == stepTemplate {
			runs = rendered
		}
		speed := compareRuns(runs, bar.step+", time", "ms", func(run chartRun) float64 { return run.times[bar.step] })
		if bar.time > 0 {
			speed = speed.AtMost(measured.BarRatio, bar.time)
		}
		memory := compareRuns(runs, bar.step+", peak memory", "MiB", func(run chartRun) float64 { return run.memory[bar.step] })
		if bar.memory > 0 {
			memory = memory.AtMost(measured.BarRatio, bar.memory)
		}
		figures = append(figures, speed, memory)
	}
	return figures, nil
}

// compareRuns compares the runs of clm with those of the tool that needed less.
func compareRuns(runs map[string][]chartRun, what, unit string, of func(chartRun) float64) measured.Figure {
	values := map[string][]float64{}
	for tool, all := range runs {
		for _, run := range all {
			values[tool] = append(values[tool], of(run))
		}
	}
	better := "helm3"
	if measured.Median(values["helm4"]) < measured.Median(values["helm3"]) {
		better = "helm4"
	}
	return measured.Comparison(what, unit, values["clm"], values[better]).Noted("%s", better)
}

type chartTrial struct {
	*lab

	chart, kubeconfig, programs string
	client                      client.Client
}

func (t *chartTrial) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("looking for the programs: %w", err)
	}
	folder, err := os.MkdirTemp("", "bench-charts-")
	if err != nil {
		return err
	}
	t.atEnd(func() error { return os.RemoveAll(folder) })
	t.programs = folder
	for _, tool := range chartTools() {
		if err := copyProgram(filepath.Join(filepath.Dir(self), tool.name), filepath.Join(folder, tool.name)); err != nil {
			return fmt.Errorf("copying %s, which make bench builds: %w", tool.name, err)
		}
	}
	t.chart = filepath.Join(folder, "stack")
	size := pick(t.lab, stackchart.Options{Group: chartGroup, Definitions: 10, Components: 10, Dashboards: 5, Rules: 10}, stackchart.Options{Group: chartGroup})
	// Helm cannot store a chart with as many definitions of its own, but one with such a subchart.
	definitions := stackchart.Options{Group: chartGroup, Definitions: size.Definitions, Components: -1, Dashboards: -1, Rules: -1}
	return errors.Join(stackchart.Write(t.chart, size), stackchart.Write(t.chart+"-definitions", definitions))
}

// render has the tools render in turns while nothing else runs: that takes so little time that others would decide about it.
func (t *chartTrial) render(ctx context.Context) (map[string][]chartRun, error) {
	runs := map[string][]chartRun{}
	for range 5 * t.repeats {
		for _, tool := range chartTools() {
			took, memory, err := t.start(ctx, tool, stepTemplate)
			if err != nil {
				return nil, err
			}
			run := chartRun{times: map[string]float64{}, memory: map[string]float64{}}
			run.took(stepTemplate, took, memory)
			runs[tool.name] = append(runs[tool.name], run)
		}
	}
	return runs, nil
}

// startCluster starts a sandbox with controllers.
func (t *chartTrial) startCluster(ctx context.Context) error {
	box, err := sandbox.Start(ctx, sandbox.Options{Log: t.Progress})
	if err != nil {
		return fmt.Errorf("starting a sandbox with controllers: %w", err)
	}
	t.atEnd(func() error { return box.Stop(context.WithoutCancel(ctx)) })
	t.kubeconfig = box.Kubeconfig()
	t.client, err = client.New(box.Config(), client.Options{})
	return err
}

// copyProgram copies a program. How much memory of a program counts depends on how its file came into the page cache: a program that was just linked seems to need more.
func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// run measures all steps with one tool, which leaves nothing behind.
func (t *chartTrial) run(ctx context.Context, tool chartTool) (chartRun, error) {
	run := chartRun{times: map[string]float64{}, memory: map[string]float64{}}
	for _, step := range chartSteps {
		// What the servers still do because of the step before must not count: it would count against the faster tool.
		if err := progress.Pause(ctx, pick(t.lab, 0, chartPause)); err != nil {
			return run, err
		}
		took, memory, err := t.start(ctx, tool, step)
		if err != nil {
			return run, err
		}
		if step == stepDelete || step == stepEnd {
			started := time.Now()
			if err := t.deleteDefinitions(ctx); err != nil {
				return run, err
			}
			took += time.Since(started)
		}
		run.took(step, took, memory)
	}
	return run, nil
}

func (t *chartTrial) start(ctx context.Context, tool chartTool, step string) (took time.Duration, memory int64, err error) {
	args := slices.Clone(tool.commands[step])
	for i := range args {
		args[i] = strings.Replace(args[i], "CHART", t.chart, 1)
	}
	command := exec.CommandContext(ctx, filepath.Join(t.programs, tool.name), append(args, "--namespace", metav1.NamespaceDefault)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+t.kubeconfig)
	var messages strings.Builder
	command.Stderr = &messages
	started := time.Now()
	if err = command.Start(); err == nil {
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		memory, err = peakUntil(command.Process.Pid, ended)
	}
	took = time.Since(started)
	if err != nil {
		return 0, 0, fmt.Errorf("%s %s: %w: %s", tool.name, strings.Join(args, " "), err, messages.String())
	}
	return took, memory, nil
}

// peakUntil returns the peak of the memory of a process, but for its last milliseconds, and with which error it has ended.
func peakUntil(pid int, ended <-chan error) (memory int64, err error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return memory, err
		case <-ticker.C:
			memory = max(memory, processor.PeakMemory(pid))
		}
	}
}

// deleteDefinitions deletes what is left of the definitions of the chart, in parallel, and waits until they are gone.
func (t *chartTrial) deleteDefinitions(ctx context.Context) error {
	find := func(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}}
		err := t.client.List(ctx, list)
		return slices.DeleteFunc(list.Items, func(item metav1.PartialObjectMetadata) bool { return !strings.HasSuffix(item.Name, "."+chartGroup) }), err
	}
	left, err := find(ctx)
	if err != nil {
		return fmt.Errorf("listing the definitions: %w", err)
	}
	err = parallel(ctx, len(left), func(ctx context.Context, i int) error { return client.IgnoreNotFound(t.client.Delete(ctx, &left[i])) })
	if err != nil || len(left) == 0 {
		return err
	}
	count, changed := len(left), time.Now()
	return t.await(ctx, "the definitions to be gone", func(ctx context.Context) (bool, string) {
		left, err := find(ctx)
		if len(left) != count {
			count, changed = len(left), time.Now()
		}
		if err == nil && time.Since(changed) > time.Second {
			// The API server goes on with a deletion that has stalled when the definition changes, which clm does after a second, too.
			changed = time.Now()
			err = parallel(ctx, len(left), func(ctx context.Context, i int) error {
				annotations := fmt.Appendf(nil, `{"metadata":{"annotations":{"changed":%q}}}`, changed.Format(time.RFC3339))
				return client.IgnoreNotFound(t.client.Patch(ctx, &left[i], client.RawPatch(types.MergePatchType, annotations)))
			})
		}
		return err == nil && len(left) == 0, fmt.Sprintf("%d are left, error: %v", len(left), err)
	})
}
