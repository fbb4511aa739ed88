// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"
)

// A variant is a choice of the options that decide which files a project has.
type variant struct {
	generator            GeneratorKind
	validating, mutating bool
	license              License
	// served are versions of the API besides the one that is stored; a conversion webhook comes with them.
	served []string
	// local means a runtime in a folder beside the project, instead of a version.
	local bool
}

// variants are such that each value of one option meets each value of another one.
var variants = map[string]variant{
	"go-both":            {GeneratorGo, true, true, LicenseNone, nil, true},
	"go-convert":         {GeneratorGo, false, false, LicenseApache, []string{"v1alpha1", "v1beta1"}, false},
	"helm-both":          {GeneratorHelm, true, true, LicenseApache, nil, true},
	"helm-convert":       {GeneratorHelm, false, false, LicenseNone, []string{"v1alpha1"}, false},
	"kustomize-validate": {GeneratorKustomize, true, false, LicenseApache, nil, false},
	"kustomize-mutate":   {GeneratorKustomize, false, true, LicenseNone, []string{"v1alpha1"}, true}, // and convert
	"resources-both":     {GeneratorResources, true, true, LicenseNone, []string{"v1alpha1"}, false}, // and convert
	"resources-plain":    {GeneratorResources, false, false, LicenseApache, nil, true},
}

// options returns complete options of the variant.
func (v variant) options(t *testing.T) *Options {
	t.Helper()
	options := &Options{
		GroupName: "shop.example.org", Kind: "WebShop", OperatorName: "webshop.shop.example.org", GoModule: "example.org/webshop-operator",
		Image: "registry.example.org/webshop-operator:1.0.0", Owner: "Example Corp.",
		Generator: v.generator, ValidatingWebhook: v.validating, MutatingWebhook: v.mutating, License: v.license, SPDXHeaders: v.license != LicenseNone,
		ServedVersions: v.served, RuntimeVersion: "v1.0.0",
	}
	if len(v.served) > 0 {
		// The definition is another one: versions that were stored once cannot be left out of it.
		options.GroupName, options.GroupVersion = "versions.example.org", "v1"
	}
	if v.local {
		options.RuntimeVersion, options.RuntimePath = "", "../runtime"
	}
	switch v.generator {
	case GeneratorHelm:
		options.Chart = "testdata/chart"
	case GeneratorKustomize:
		options.Kustomization = "testdata/kustomization"
	case GeneratorGo, GeneratorResources:
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	return options
}
