// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// runProgram runs a program built by make bench. It returns the duration, and the peak memory in bytes.
func runProgram(ctx context.Context, kubeconfig, program string, args ...string) (took time.Duration, memory int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, fmt.Errorf("looking for %s: %w", program, err)
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), program), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
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
		return 0, 0, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, messages.String())
	}
	return took, memory, nil
}

// tempDir returns a folder that is removed at the end.
func (l *lab) tempDir() (string, error) {
	folder, err := os.MkdirTemp("", "bench-")
	l.atEnd(func() error { return os.RemoveAll(folder) })
	return folder, err
}

// peakUntil polls the peak memory of a process. The system's value at the end includes the memory of this process, from
// which the other one was forked. The result is 0 on systems without /proc.
func peakUntil(pid int, ended <-chan error) (memory int64, err error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return memory, err
		case <-ticker.C:
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, _ := strings.Cut(string(status), "VmHWM:")
			var kibibytes int64
			if err == nil {
				_, _ = fmt.Sscan(after, &kibibytes) // an ended process has no memory
			}
			memory = max(memory, kibibytes<<10)
		}
	}
}

// commandLine measures clm with a file of ConfigMaps.
func commandLine(ctx context.Context, l *lab) ([]figure, error) {
	folder, err := l.tempDir()
	if err != nil {
		return nil, err
	}
	var times [3][]time.Duration // to apply, to apply the same again, to delete
	var applyLimits, removeLimits []time.Duration
	err = l.repeat(ctx, func(name string, found limits) error {
		source := filepath.Join(folder, name+".yaml")
		if err := writeSource(ctx, source, l.namespace, name); err != nil {
			return err
		}
		for i, args := range [][]string{{"apply", name, source}, {"apply", name, source}, {"delete", name}} {
			if err := l.settle(ctx); err != nil {
				return err
			}
			took, _, err := runProgram(ctx, l.kubeconfig, "clm", append(args, "--yes", "--namespace", l.namespace)...)
			if err != nil {
				return err
			}
			times[i] = append(times[i], took)
		}
		applyLimits, removeLimits = append(applyLimits, found.apply), append(removeLimits, found.remove)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		speed("500 objects, clm apply", times[0], applyLimits).atMost(barRatio, 1.6),
		latency("clm apply of the same again", times[1]).atMost(barValue, 500),
		speed("500 objects, clm delete", times[2], removeLimits).atMost(barRatio, 1.6),
	}, nil
}

// writeSource writes a file with the usual dependents.
func writeSource(ctx context.Context, file, namespace, name string) error {
	objects, err := bundleGenerator{}.Generate(ctx, namespace, name, (&Bundle{Spec: usual}).GetSpec())
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", object.GetName(), err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}

// chartStep is a command of clm and its equivalent of Helm. CHART stands for the path of the chart.
type chartStep struct {
	name         string
	clm, helm    string
	time, memory float64 // the bars as ratios
}

// chartSteps returns the steps per sandbox. Each sequence has its own, because types, and the servers' work after their
// deletion, would disturb the next one.
func chartSteps() [][]chartStep {
	return [][]chartStep{{
		{"template", "template stack CHART", "template stack CHART --include-crds", 1.2, 1.2},
		{"install", "apply stack CHART", "install stack CHART --wait", 1, 1.2},
		{"upgrade", "apply stack CHART --set replicas=2", "upgrade stack CHART --wait --set replicas=2", 1, 1.2},
	}, {
		{
			"install definitions", "apply definitions CHART-definitions --set webhook.enabled=false",
			"install definitions CHART-definitions --wait --set webhook.enabled=false", 1, 1.3,
		},
		{"", "apply stack CHART --set definitions.enabled=false", "install stack CHART --wait --set definitions.enabled=false", 0, 0},
		{"delete without definitions", "delete stack --yes", "uninstall stack --wait", 1.2, 1.2},
	}}
}

// charts compares clm with Helm 3 and Helm 4, using a chart of the size of a monitoring stack. The limit is the better
// of the two.
func charts(ctx context.Context, l *lab) ([]figure, error) {
	const group = "stack.bench.component-operator.io"
	folder, err := l.tempDir()
	if err != nil {
		return nil, err
	}
	chart := filepath.Join(folder, "stack")
	size := pick(l, chartSize{definitions: 10, components: 10, dashboards: 5, rules: 10}, chartSize{definitions: 60, components: 20, dashboards: 30, rules: 40})
	// Helm cannot store a chart with so many definitions of its own, but it can store one with such a subchart.
	if err := errors.Join(writeChart(chart, group, size), writeChart(chart+"-definitions", group, chartSize{definitions: size.definitions})); err != nil {
		return nil, err
	}
	var figures []figure
	for _, steps := range chartSteps() {
		times, memory := map[string][]float64{}, map[string][]float64{}
		for range min(l.repeats, 3) {
			for _, program := range []string{"clm", "helm3", "helm4"} {
				if err := runSteps(ctx, steps, program, chart, times, memory); err != nil {
					return figures, err
				}
			}
		}
		for _, step := range steps {
			if step.name != "" {
				figures = append(figures,
					compareTools(times, step.name, ", time", "ms").atMost(barRatio, step.time),
					compareTools(memory, step.name, ", peak memory", "MiB").atMost(barRatio, step.memory))
			}
		}
	}
	return figures, nil
}

// runSteps runs one of the programs in its own sandbox, and adds times and memory by program and step.
func runSteps(ctx context.Context, steps []chartStep, program, chart string, times, memory map[string][]float64) (err error) {
	box, err := sandbox.Start(ctx, sandbox.Options{})
	if err != nil {
		return fmt.Errorf("starting a sandbox with controllers: %w", err)
	}
	defer func() { err = errors.Join(err, box.Stop(context.WithoutCancel(ctx))) }()
	for _, step := range steps {
		// Remaining work of the servers from the previous step must not count: it would count against the faster tool.
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
		args := step.helm
		if program == "clm" {
			args = step.clm
		}
		took, peak, err := runProgram(ctx, box.Kubeconfig(), program, strings.Fields(strings.Replace(args, "CHART", chart, 1)+" --namespace default")...)
		if err != nil {
			return err
		}
		times[program+step.name] = append(times[program+step.name], took.Seconds()*1000)
		memory[program+step.name] = append(memory[program+step.name], float64(peak)/(1<<20))
	}
	return nil
}

// compareTools compares clm with the better of the two Helms.
func compareTools(values map[string][]float64, step, what, unit string) figure {
	better := "helm3"
	if percentile(values["helm4"+step], 0.5) < percentile(values["helm3"+step], 0.5) {
		better = "helm4"
	}
	f := comparison(step+what, unit, values["clm"+step], values[better+step])
	f.note = better
	return f
}

// chart contains the chart without its definitions. GROUP stands for the group of the custom resources, 0.0.0-VERSION
// for the version of the chart, and N-COMPONENTS, N-DASHBOARDS and N-RULES for their numbers.
//
//go:embed all:chart
var chart embed.FS

// chartSize is the size of a chart: definitions of 60 kB each, monitored components of ten objects each (one in ten has
// a Deployment), dashboards as ConfigMaps of 20 kB, and rules as custom resources of 10 kB.
type chartSize struct{ definitions, components, dashboards, rules int }

// writeChart writes the chart into the folder, and creates it if it does not exist.
func writeChart(folder, group string, size chartSize) error {
	constants := strings.NewReplacer("GROUP", group, "0.0.0-VERSION", "1.0.0",
		"N-COMPONENTS", fmt.Sprint(size.components), "N-DASHBOARDS", fmt.Sprint(size.dashboards), "N-RULES", fmt.Sprint(size.rules))
	err := fs.WalkDir(chart, "chart", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := chart.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(folder, strings.TrimPrefix(path, "chart/")), constants.Replace(string(content)))
	})
	for i := range size.definitions {
		kind := "Rule"
		if i > 0 {
			kind = fmt.Sprintf("Kind%02d", i)
		}
		// Helm installs definitions there before everything else.
		path := filepath.Join(folder, "charts", "definitions", "crds", strings.ToLower(kind)+"s.yaml")
		err = errors.Join(err, write(path, definitionOf(kind, group, rand.New(rand.NewPCG(0, uint64(i)))))) //nolint:gosec // it must always be the same
	}
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// words are the words of descriptions. They compress no better than those of real definitions.
var words = strings.Fields(`the a of to in that is for and this be by with if are not or an it as which when must can will on set only name list value
	field object default pod container volume label selector namespace resource request limit secret service port path template rule key version type
	reference condition status policy number seconds node time version authority endpoint certificate protocol address image command argument config
	claim storage class group role user account token header method target interval timeout retry queue shard replica update strategy annotation`)

// definitionOf returns a definition of about 60 kB.
func definitionOf(kind, group string, random *rand.Rand) string {
	const groups, fields, wordsOfField = 11, 10, 70
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
`, kind, strings.ToLower(kind), group)
	for i := range groups {
		fmt.Fprintf(&text, `              group%d:
                type: array
                description: Settings of one part, which are applied in their order.
                items:
                  type: object
                  properties:
`, i)
		for j := range fields {
			fmt.Fprintf(&text, "                    field%d:\n                      type: %s\n                      description:", j, []string{"integer", "string", "string"}[j%3])
			for range wordsOfField {
				text.WriteString(" " + words[random.IntN(len(words))])
			}
			text.WriteString("\n")
		}
	}
	return text.String()
}

func write(path, content string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600))
}
