// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"

	"github.com/component-operator/runtime/pkg/component"
)

// TestRefusals checks that each bad value is refused by a line that names its flag and the value.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(o *Options)
		want   []string
	}{
		"nothing given": {
			func(o *Options) { *o = Options{} },
			[]string{"--group-name: is required", "--kind: is required", "--operator-name: is required", "--go-module: is required"},
		},
		"groups of definitions have a dot": {func(o *Options) { o.GroupName = "shop" }, []string{`--group-name: invalid value "shop": must have at least one dot`}},
		"Kubernetes' form of versions":     {func(o *Options) { o.GroupVersion = "1.0" }, []string{`--group-version: invalid value "1.0"`, "v1alpha1"}},
		"a version that is stored":         {func(o *Options) { o.ServedVersions = []string{"v1alpha1"} }, []string{`--served-version: invalid value "v1alpha1"`, "--group-version"}},
		"a served version twice":           {func(o *Options) { o.ServedVersions = []string{"v1", "v1"} }, []string{`--served-version: invalid value "v1": must not be given twice`}},
		"a kind is exported":               {func(o *Options) { o.Kind = "webShop" }, []string{`--kind: invalid value "webShop"`, "capital letter"}},
		"the operator's name is a prefix":  {func(o *Options) { o.OperatorName = "shop/x" }, []string{`--operator-name: invalid value "shop/x"`}},
		"a module names the program":       {func(o *Options) { o.GoModule = "example.org/Shop" }, []string{`--go-module: invalid value "example.org/Shop"`, "last element"}},
		"an image":                         {func(o *Options) { o.Image = "a b" }, []string{`--image: invalid value "a b"`}},
		"generators":                       {func(o *Options) { o.Generator = "jsonnet" }, []string{`--generator: invalid value "jsonnet"`, "go, resources, helm, kustomize"}},
		"Go is too old":                    {func(o *Options) { o.GoVersion = "1.20" }, []string{`--go-version: invalid value "1.20"`, versions.golang}},
		"a version":                        {func(o *Options) { o.ControllerRuntimeVersion = "latest" }, []string{`--controller-runtime-version: invalid value "latest"`}},
		"no version of the runtime":        {func(o *Options) { o.RuntimeVersion = "" }, []string{"--runtime-version", "--runtime-path"}},
	} {
		options := &Options{
			GroupName: "shop.example.org", Kind: "WebShop", OperatorName: "webshop.shop.example.org", GoModule: "example.org/webshop-operator", RuntimeVersion: "v1.0.0",
		}
		row.change(options)
		err := options.Complete()
		if err == nil {
			t.Errorf("%s: want an error", name)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want an error with %q, got: %v", name, want, err)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	options := &Options{
		GroupName: "shop.example.org", Kind: "Proxy", OperatorName: "proxy.shop.example.org", GoModule: "example.org/proxy-operator/v2", RuntimeVersion: "v1.0.0",
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	want := &Options{
		GroupName: "shop.example.org", GroupVersion: "v1alpha1", Kind: "Proxy", Resource: "proxies", OperatorName: "proxy.shop.example.org",
		GoModule: "example.org/proxy-operator/v2", GoVersion: versions.golang, KubernetesVersion: versions.kubernetes,
		ControllerRuntimeVersion: versions.controllerRuntime, ControllerToolsVersion: versions.controllerTools,
		Image: "proxy-operator:latest", Owner: "The proxy-operator authors", License: LicenseNone, Generator: GeneratorGo, RuntimeVersion: "v1.0.0",
	}
	if diff := cmp.Diff(want, options); diff != "" {
		t.Errorf("unexpected defaults:\n%s", diff)
	}
}

// TestVersionsAreThoseOfTheRuntime compares the versions with the requirements of the runtime and of its tools.
func TestVersionsAreThoseOfTheRuntime(t *testing.T) {
	t.Parallel()
	required := map[string]string{}
	for _, path := range []string{"../../../internal/tools/go.mod", "../../../go.mod"} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := modfile.Parse(path, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		required["go"] = parsed.Go.Version
		for _, requirement := range parsed.Require {
			required[requirement.Mod.Path] = requirement.Mod.Version
		}
	}
	for path, version := range map[string]string{
		"go": versions.golang, "k8s.io/api": versions.kubernetes, "k8s.io/apimachinery": versions.kubernetes, "k8s.io/client-go": versions.kubernetes,
		"sigs.k8s.io/controller-runtime": versions.controllerRuntime, "sigs.k8s.io/controller-tools": versions.controllerTools,
		"github.com/go-logr/logr": versions.logr,
	} {
		if required[path] != version {
			t.Errorf("%s: projects get %s, the runtime has %s", path, version, required[path])
		}
	}
}

// TestCapabilitiesAreThoseOfComponents compares the table with package component.
func TestCapabilitiesAreThoseOfComponents(t *testing.T) {
	t.Parallel()
	offered := map[string]reflect.Type{}
	for _, value := range []any{
		component.PresenceSpec{},
		component.RequeueSpec{},
		component.RetrySpec{},
		component.TimeoutSpec{},
		component.ReapplySpec{},
		component.DeletionSpec{},
		component.PlacementSpec{},
		component.ClientSpec{},
		component.ImpersonationSpec{},
		component.PolicySpec{},
		component.ReconcileSpec{},
		component.DriftSpec{},
		component.TypeSpec{},
		component.DependencySpec{},
	} {
		offered[reflect.TypeOf(value).Name()] = reflect.TypeOf(value)
	}
	for _, capability := range capabilities {
		var fields []string
		for field := range offered[capability.Type].Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		if !slices.Equal(fields, capability.Fields) {
			t.Errorf("%s has fields %v, the table says %v", capability.Type, fields, capability.Fields)
		}
		delete(offered, capability.Type)
	}
	for name := range offered {
		t.Errorf("the table lacks %s", name)
	}
}

// TestAnyKind checks that a kind may be called like a package that main.go imports, or like a word of Go.
func TestAnyKind(t *testing.T) {
	t.Parallel()
	options := variants["go-both"].options(t)
	want := string(renderWith(t, options)["main.go"])
	for _, kind := range []string{"MetricsServer", "Runtime", "Map", "String", "Init", "Own"} {
		options := variants["go-both"].options(t)
		options.Kind, options.Resource = kind, ""
		if err := options.Complete(); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(string(renderWith(t, options)["main.go"]), "operator for "+kind, "operator for WebShop")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("main.go depends on the kind %s (-want +got):\n%s", kind, diff)
		}
	}
}
