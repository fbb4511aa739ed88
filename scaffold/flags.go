// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/module"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// declare declares the flags. Their defaults stand in the texts, because package project sets them.
func (s *settings) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	declareOptions(flags, &s.options)
	flags.StringVar(&s.runtimePath, "runtime-path", "", "folder with a checkout of component-operator-runtime to use instead of a version")
	flags.BoolVar(&s.interactive, "interactive", false, "ask for required flags that are not given; needs a terminal")
	flags.BoolVar(&s.updating, "update", false, "update the project in DIR, which scaffold made earlier; other flags change its options")
	flags.BoolVar(&s.conflictMarkers, "conflict-markers", false, "with --update, write conflict markers into files that you and scaffold changed in the same lines")
	flags.BoolVar(&s.skipPostProcessing, "skip-post-processing", false, "leave out everything that runs other programs (go, make)")
	flags.BoolVar(&s.dryRun, "dry-run", false, "show which files would be written, or how an update would change them, and write nothing")
	for _, flag := range withoutEffect {
		flags.String(flag.name, "", flag.reason)
		flags.Lookup(flag.name).Hidden = true
	}
	command.PreRun = func(command *cobra.Command, _ []string) {
		for _, flag := range withoutEffect {
			if flags.Changed(flag.name) {
				fmt.Fprintf(command.ErrOrStderr(), "--%s has no effect: %s\n", flag.name, flag.reason)
			}
		}
	}
}

// declareOptions declares the flags that are recorded in the project.
func declareOptions(flags *pflag.FlagSet, o *project.Options) {
	flags.StringVar(&o.GroupName, "group-name", "", "API group of the component, such as shop.example.org (required)")
	flags.StringVar(&o.GroupVersion, "group-version", "", "version of the API (default v1alpha1)")
	flags.StringSliceVar(&o.ServedVersions, "served-version", nil, "further version of the API that users may use; the operator converts it (may be repeated)")
	flags.StringVar(&o.Kind, "kind", "", "kind of the component, such as WebShop (required)")
	flags.StringVar(&o.Resource, "resource", "", "plural name of the kind in lower case (default: derived from the kind)")
	flags.StringVar(&o.OperatorName, "operator-name", "", "name that identifies the operator in clusters, such as webshop.shop.example.org (required)")
	flags.StringVar(&o.GoModule, "go-module", "", "path of the Go module, such as example.org/webshop-operator (required)")
	flags.StringVar((*string)(&o.Generator), "generator", "", "what renders the dependents: go, resources (Go with typed resources), helm or kustomize "+
		"(default: what --chart or --kustomization say, else go)")
	flags.StringVar(&o.Chart, "chart", "", "chart to build the operator around: a folder, a packaged chart, oci://HOST/PATH or https://HOST/PATH#CHART")
	flags.StringVar(&o.Kustomization, "kustomization", "", "folder of the kustomization to build the operator around")
	flags.StringVar(&o.Image, "image", "", "name of the operator's image (default: the last element of the module, with the tag latest)")
	flags.BoolVar(&o.ValidatingWebhook, "with-validating-webhook", false, "add a validating webhook")
	flags.BoolVar(&o.MutatingWebhook, "with-mutating-webhook", false, "add a mutating webhook")
	flags.StringVar((*string)(&o.License), "license", "", "license of the project: none or Apache-2.0 (default none)")
	flags.StringVar(&o.Owner, "owner", "", "holder of the copyright (default: the authors of the program)")
	flags.BoolVar(&o.SPDXHeaders, "spdx-license-headers", false, "begin each source file with owner and license")
	flags.StringVar(&o.GoVersion, "go-version", "", "version of Go (default: what the runtime needs)")
	flags.StringVar(&o.KubernetesVersion, "kubernetes-version", "", "version of the Kubernetes libraries (default: what the runtime needs)")
	flags.StringVar(&o.ControllerRuntimeVersion, "controller-runtime-version", "", "version of controller-runtime (default: what the runtime needs)")
	flags.StringVar(&o.ControllerToolsVersion, "controller-tools-version", "", "version of controller-gen (default: what the runtime uses)")
	flags.StringVar(&o.RuntimeVersion, "runtime-version", "", "version of component-operator-runtime (default: that of scaffold)")
}

// withoutEffect are flags of the scaffolder that this one replaces. They name libraries of which nothing is left, and
// are accepted so that scripts go on working.
var withoutEffect = []struct{ name, reason string }{
	{"admission-webhook-runtime-version", "webhooks are written against controller-runtime, so there is no such library"},
	{"code-generator-version", "clients are those of controller-runtime; the project generates none"},
	{"envtest-kubernetes-version", "tests run in the Kubernetes that comes with the runtime"},
}

// isLocal reports whether a version is that of a checkout with commits or changes that were never released.
func isLocal(version string) bool {
	return strings.Contains(version, "+dirty") || module.IsPseudoVersion(version)
}
