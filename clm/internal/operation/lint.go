// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/linter"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Finding is one problem of the sources. It is its form in output for programs.
type Finding struct {
	Severity linter.Severity `json:"severity"`
	// File begins with the name of the chart. For other sources, it is the reference. Empty if it is not known.
	File string `json:"file,omitempty"`
	// Object is the rendered object; empty if the finding is about a file.
	Object string `json:"object,omitempty"`
	// Message describes the problem.
	Message string `json:"message"`

	of reconciler.ObjectInfo // the object, if the finding is one of the API server
}

// LintRequest specifies what to examine. Its sources must have been loaded with Options.KeepCharts.
type LintRequest struct {
	Request

	// Offline is the client for templates if there is no connection. Helm's linter gets its version of Kubernetes.
	Offline cluster.Client
	// Connection to the cluster for checks on the server; nil examines the sources without a cluster.
	Connection *runner.Connection
}

// Lint returns the problems of the sources, those of charts first. An error means that the examination is incomplete;
// the findings before it are returned as well.
func Lint(ctx context.Context, request LintRequest) ([]Finding, error) {
	var findings []Finding
	version, err := request.Offline.DiscoveryClient().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the version of Kubernetes: %w", err)
	}
	for _, chart := range request.Sources.Charts() {
		messages, err := linter.Lint(chart, request.Sources.Values(), request.Namespace, version.GitVersion)
		if err != nil {
			return findings, fmt.Errorf("examining chart %s: %w", chart.Name(), err)
		}
		for _, message := range messages {
			findings = append(findings, Finding{Severity: message.Severity, File: path.Join(chart.Name(), message.Path), Message: message.Text})
		}
	}
	rendering := sources.Request{
		ReconcilerName: releases.ReconcilerName, Namespace: request.Namespace, Name: request.Name, Revision: 1, ReleaseHooks: true, Client: request.Offline,
	}
	if request.Connection != nil {
		rendering.Client = request.Connection.Client()
	}
	generated, err := request.Sources.Generate(ctx, rendering)
	switch {
	case ctx.Err() != nil:
		return findings, ctx.Err()
	case err != nil:
		return append(findings, Finding{Severity: linter.Error, Message: err.Error()}), nil
	case request.Connection == nil:
		return findings, nil
	}
	ofServer, err := askServer(ctx, request)
	for _, finding := range ofServer {
		findings = append(findings, finding.from(generated.Objects, generated.Origins))
	}
	return findings, err
}

// from adds the file of its object to a finding.
func (f Finding) from(objects []*unstructured.Unstructured, origins []string) Finding {
	namespace := f.of.GetNamespace()
	at := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool {
		return keyIn(namespace, object) == keyIn(namespace, f.of)
	})
	if at >= 0 {
		f.File = origins[at]
	}
	return f
}

// askServer plans to apply the sources, with a dry run of each object on the server.
func askServer(ctx context.Context, request LintRequest) ([]Finding, error) {
	plan, err := PlanSources(ctx, request.Connection, request.Request, true)
	refused, isRefused := errors.AsType[*reconciler.RefusedError](err)
	switch {
	case isRefused:
		answers := display.Map(refused.Problems, func(problem string) Finding { return Finding{Severity: linter.Error, Message: problem} })
		return append(answers, Finding{Severity: linter.Info, Message: "the API server was not asked about the other objects, because of these errors"}), nil
	case err != nil:
		return nil, err
	}
	defer plan.Close()
	return answersOf(plan.Changes), nil
}

const (
	// shown bounds how many objects a finding names.
	shown = 5

	reasonForeign = "they belong to another owner; if that is a release, give its name"
	reasonLocal   = "the server does not know the namespace, or not the type as it will be"
)

// answersOf returns the findings of the server about the desired objects of a plan.
func answersOf(changes []reconciler.Change) []Finding {
	var answers []Finding
	unchecked := map[string][]string{}
	for _, change := range changes {
		switch {
		case change.Digest == "":
			continue // not wanted
		case change.Foreign:
			unchecked[reasonForeign] = append(unchecked[reasonForeign], change.Object.String())
			continue
		case change.Local && change.Refusal == "":
			unchecked[reasonLocal] = append(unchecked[reasonLocal], change.Object.String())
		case change.Refusal != "":
			answers = append(answers, about(change, linter.Error, change.Refusal))
		}
		for _, note := range change.Notes {
			severity := linter.Warning
			if fields, unknown := strings.CutPrefix(note, inventory.UnknownFieldsNote); unknown {
				severity, note = linter.Error, "unknown fields, which apply leaves out: "+fields
			}
			answers = append(answers, about(change, severity, note))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(unchecked)) {
		answers = append(answers, Finding{
			Severity: linter.Info, Message: fmt.Sprintf("not checked by the API server: %s: %s", display.Enumerate(unchecked[reason], shown), reason),
		})
	}
	return answers
}

func about(change reconciler.Change, severity linter.Severity, message string) Finding {
	return Finding{Severity: severity, Object: change.Object.String(), Message: message, of: change.Object}
}
