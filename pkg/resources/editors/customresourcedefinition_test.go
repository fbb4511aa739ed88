// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestCustomResourceDefinitionSpecEditor(t *testing.T) {
	t.Parallel()
	type spec = apiextensionsv1.CustomResourceDefinitionSpec
	type version = apiextensionsv1.CustomResourceDefinitionVersion
	names := func(shortNames, categories []string) spec {
		return spec{Names: apiextensionsv1.CustomResourceDefinitionNames{ShortNames: shortNames, Categories: categories}}
	}
	conversion := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{}}
	check(t, editors.NewCustomResourceDefinitionSpecEditor, map[string]row[spec, *editors.CustomResourceDefinitionSpecEditor]{
		"a version is added to none": {
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) { e.EnsureVersion(version{Name: "v1"}) },
			want: spec{Versions: []version{{Name: "v1"}}},
		},
		"a version is replaced at its place, and its duplicates go": {
			start: spec{Versions: []version{{Name: "v1", Storage: true}, {Name: "v2"}, {Name: "v1"}}},
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) {
				e.EnsureVersion(version{Name: "v1", Served: true})
			},
			want: spec{Versions: []version{{Name: "v1", Served: true}, {Name: "v2"}}},
		},
		"other versions stay as they are": {
			start: spec{Versions: []version{{Name: "v1", Storage: true}}},
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) {
				e.EnsureVersion(version{Name: "v2", Storage: true})
			},
			want: spec{Versions: []version{{Name: "v1", Storage: true}, {Name: "v2", Storage: true}}},
		},
		"a version is removed by its name": {
			start: spec{Versions: []version{{Name: "v1"}, {Name: "v2"}}},
			edit:  func(e *editors.CustomResourceDefinitionSpecEditor) { e.RemoveVersion("v1"); e.RemoveVersion("v3") },
			want:  spec{Versions: []version{{Name: "v2"}}},
		},
		"the conversion is set": {
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) { e.SetConversion(conversion) },
			want: spec{Conversion: conversion},
		},
		"nil clears the conversion": {
			start: spec{Conversion: conversion},
			edit:  func(e *editors.CustomResourceDefinitionSpecEditor) { e.SetConversion(nil) },
		},
		"short names and categories are added once": {
			start: names([]string{"a", "b", "a"}, nil),
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) {
				e.EnsureShortName("a")
				e.EnsureShortName("c")
				e.EnsureCategory("all")
			},
			want: names([]string{"a", "b", "c"}, []string{"all"}),
		},
		"Raw is the value itself": {
			edit: func(e *editors.CustomResourceDefinitionSpecEditor) { e.Raw().Group = "example.io" },
			want: spec{Group: "example.io"},
		},
	})
}
