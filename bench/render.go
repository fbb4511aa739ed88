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
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"        //nolint:depguard // what is compared with is Helm itself
	"helm.sh/helm/v3/pkg/chart/loader" //nolint:depguard // likewise
	"helm.sh/helm/v3/pkg/chartutil"    //nolint:depguard // likewise
	"helm.sh/helm/v3/pkg/engine"       //nolint:depguard // likewise
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/deployments"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/processor"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/types"
)

// The chart that is rendered has that many files with that many objects each.
const (
	chartFiles = 30
	chartEach  = 10
)

const chartHelpers = `{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
`

const chartTemplate = `{{- range $i := until %d }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-%d-{{ $i }}
  labels: {{- include "labels" $ | nindent 4 }}
data:
  {{- range $key, $value := $.Values.settings }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
  size: {{ $.Values.payloadBytes | default 0 | quote }}
{{- end }}
`

// writeChart writes a chart of 300 objects.
func writeChart(folder string) error {
	files := map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: many\nversion: 1.0.0\n",
		"values.yaml":            "settings: {first: one, second: two, third: three, fourth: four, fifth: five}\n",
		"templates/_helpers.tpl": chartHelpers,
	}
	for i := range chartFiles {
		files[fmt.Sprintf("templates/file-%d.yaml", i)] = fmt.Sprintf(chartTemplate, chartEach, i)
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return fmt.Errorf("writing the chart: %w", err)
		}
	}
	return nil
}

// render measures the generator for Helm charts, and shows that its results are used again.
func render(ctx context.Context, l *lab) ([]measured.Figure, error) {
	folder, err := os.MkdirTemp("", "bench-chart-")
	if err != nil {
		return nil, err
	}
	l.atEnd(func() error { return os.RemoveAll(folder) })
	if err := writeChart(folder); err != nil {
		return nil, err
	}
	generator, err := helm.New(nil, folder, helm.Options{})
	if err != nil {
		return nil, err
	}
	times, err := l.renderBoth(ctx, generator, folder)
	if err != nil {
		return nil, err
	}
	figures := []measured.Figure{
		measured.Speed("chart of 300 objects, rendered and decoded", times.ours, times.objects).AtMost(measured.BarRatio, 1.2).
			Noted("the limit is Helm's engine, and the decoding of the text that it returns"),
		measured.Speed("the same", times.ours, times.text).Noted("the limit is Helm's engine without decoding"),
	}
	again, passes, err := l.renderAgain(ctx, generator)
	if err != nil {
		return figures, err
	}
	return append(figures,
		measured.Count("renders in 20 further passes of a component of it", again).Exactly(0),
		measured.Latency("such a pass", passes),
	), nil
}

// renderTimes are what our generator takes, Helm's engine up to texts, and Helm's engine up to objects.
type renderTimes struct {
	ours, text, objects []time.Duration
}

// renderBoth renders in turns, so that both suffer the same from whatever else is going on.
func (l *lab) renderBoth(ctx context.Context, ours manifests.Generator, folder string) (times renderTimes, err error) {
	c, err := l.connect("renderer")
	if err != nil {
		return times, err
	}
	clnt, err := c.clusterClient()
	if err != nil {
		return times, err
	}
	ctx = generator.NewContext(ctx, generator.Surroundings{ReconcilerName: bundles.ReconcilerName, Client: clnt, ComponentRevision: 1})
	discovered, err := generator.DiscoveryFromContext(ctx)
	if err != nil {
		return times, err
	}
	capabilities := *chartutil.DefaultCapabilities
	capabilities.APIVersions = discovered.GroupVersions
	parameters := (&bundles.Bundle{}).GetSpec()
	for range pick(l, 20, 100) {
		loaded, err := loader.Load(folder)
		if err != nil {
			return times, fmt.Errorf("loading the chart with Helm: %w", err)
		}
		started := time.Now()
		files, err := renderAsHelm(loaded, parameters.ToUnstructured(), &capabilities)
		if err != nil {
			return times, err
		}
		times.text = append(times.text, time.Since(started))
		if err := decodeAll(files); err != nil {
			return times, err
		}
		times.objects = append(times.objects, time.Since(started))
		started = time.Now()
		objects, err := ours.Generate(ctx, "default", "many", parameters)
		if err != nil {
			return times, err
		}
		times.ours = append(times.ours, time.Since(started))
		if len(objects) != chartFiles*chartEach {
			return times, fmt.Errorf("rendering the chart: got %d objects", len(objects))
		}
	}
	return times, nil
}

// renderAsHelm does what Helm does with a chart that was loaded, up to the texts of its files.
func renderAsHelm(loaded *chart.Chart, given map[string]any, capabilities *chartutil.Capabilities) (map[string]string, error) {
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return nil, fmt.Errorf("rendering with Helm: %w", err)
	}
	release := chartutil.ReleaseOptions{Name: "many", Namespace: "default", Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(loaded, given, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("rendering with Helm: %w", err)
	}
	files, err := engine.Render(loaded, values)
	if err != nil {
		return nil, fmt.Errorf("rendering with Helm: %w", err)
	}
	return files, nil
}

// decodeAll turns texts into objects with the decoder of Kubernetes.
func decodeAll(files map[string]string) error {
	for name, content := range files {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(content), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("decoding %s: %w", name, err)
			}
		}
	}
	return nil
}

// renderAgain counts how often the chart of a component is rendered although nothing has changed.
func (l *lab) renderAgain(ctx context.Context, generator manifests.Generator) (int, []time.Duration, error) {
	o, err := l.startOperator(ctx, generator)
	if err != nil {
		return 0, nil, err
	}
	seen, err := l.watch(ctx)
	if err != nil {
		return 0, nil, err
	}
	s := &stage{lab: l, operator: o, seen: seen}
	bundle, _, err := s.create(ctx, l.name, bundles.BundleSpec{Dependents: chartFiles * chartEach})
	if err != nil {
		return 0, nil, err
	}
	if _, err := o.idle(ctx, 0); err != nil {
		return 0, nil, err
	}
	before := o.generator.Calls.Load()
	var times []time.Duration
	for range 20 {
		started := time.Now()
		if _, err := o.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(bundle)}); err != nil {
			return 0, nil, err
		}
		times = append(times, time.Since(started))
	}
	rendered := o.generator.Calls.Load() - before
	_, err = s.remove(ctx, bundle)
	return int(rendered), times, err
}

// typedResources measures the processor time of building and mutating Deployments, beside that of copying the same objects and making the same changes without builders.
func typedResources(ctx context.Context, l *lab) ([]measured.Figure, error) {
	const count = 500
	ctx = generating.WithReconcilerName(ctx, "bench.component-operator.io")
	generator := resources.NewGenerator(func(context.Context, resources.Input) ([]resources.Resource, error) { return deployments.Typed(count) })
	repeats := pick(l, 20, 100)
	typed, err := meanTime(repeats, func() error {
		objects, err := generator.Generate(ctx, "default", "typed", types.UnstructurableMap{})
		if err == nil && len(objects) != count {
			err = fmt.Errorf("%d objects", len(objects))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	byHand, err := meanTime(repeats, func() error {
		for i := range count {
			deployments.Change(deployments.Named(i).DeepCopy())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Amount("CPU of building and mutating 500 Deployments with 5 mutations each", typed.Seconds()*1000, "ms").AtMost(measured.BarValue, 20),
		measured.Amount("CPU of copying and changing them by hand", byHand.Seconds()*1000, "ms"),
	}, nil
}

// meanTime returns the mean processor time of a call.
func meanTime(calls int, call func() error) (time.Duration, error) {
	if err := call(); err != nil { // fills what is filled once
		return 0, err
	}
	before := processor.Time()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return (processor.Time() - before) / time.Duration(calls), nil
}
