// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
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

// factors are the values of the variant, each with the name of its option.
func (v variant) factors() []string {
	return []string{
		"generator " + string(v.generator), fmt.Sprint("validating ", v.validating), fmt.Sprint("mutating ", v.mutating),
		"license " + string(v.license), fmt.Sprint("conversion ", len(v.served) > 0), fmt.Sprint("local ", v.local),
	}
}

// TestVariantsArePairwise checks that each pair of values that occur at all occurs in a variant.
func TestVariantsArePairwise(t *testing.T) {
	t.Parallel()
	var values []map[string]bool
	pairs := map[[2]string]bool{}
	for _, v := range variants {
		factors := v.factors()
		for i, first := range factors {
			if len(values) <= i {
				values = append(values, map[string]bool{})
			}
			values[i][first] = true
			for _, second := range factors[i+1:] {
				pairs[[2]string{first, second}] = true
			}
		}
	}
	for i := range values {
		for first := range values[i] {
			for j := i + 1; j < len(values); j++ {
				for second := range values[j] {
					if !pairs[[2]string{first, second}] {
						t.Errorf("no variant has %s and %s", first, second)
					}
				}
			}
		}
	}
}
