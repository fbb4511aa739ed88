// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// chart is all of the chart but its definitions. GROUP stands for the group of the custom resources, 0.0.0-VERSION for
// the version of the chart, and N-COMPONENTS, N-DASHBOARDS and N-RULES for how many there are.
//
//go:embed all:chart
var chart embed.FS

// chartOptions say what the chart contains. A negative number of something means none.
type chartOptions struct {
	// Group is the API group of the custom resources. Required; it must be unique in the cluster.
	Group string
	// Version is the version of the chart and of its application. As in most charts, it is in the labels of all objects
	// but the definitions, and in the image. Defaults to 1.0.0.
	Version string
	// Definitions is the number of CustomResourceDefinitions. Defaults to 60.
	Definitions int
	// DefinitionBytes is the approximate size of each definition as YAML. Defaults to 60 kB.
	DefinitionBytes int
	// Components is the number of monitored components, each of which has ten objects; one in ten has a Deployment.
	// Defaults to 20.
	Components int
	// Dashboards is the number of ConfigMaps of 20 kB. Defaults to 30.
	Dashboards int
	// Rules is the number of custom resources of 10 kB. Defaults to 40.
	Rules int
}

// writeChart writes the chart into the folder, which is made if it does not exist.
func writeChart(folder string, options chartOptions) error {
	for _, number := range []struct {
		of      *int
		instead int
	}{{&options.Definitions, 60}, {&options.DefinitionBytes, 60_000}, {&options.Components, 20}, {&options.Dashboards, 30}, {&options.Rules, 40}} {
		if *number.of == 0 {
			*number.of = number.instead
		}
		*number.of = max(0, *number.of)
	}
	constants := strings.NewReplacer(
		"GROUP", options.Group, "0.0.0-VERSION", cmp.Or(options.Version, "1.0.0"),
		"N-COMPONENTS", fmt.Sprint(options.Components), "N-DASHBOARDS", fmt.Sprint(options.Dashboards), "N-RULES", fmt.Sprint(options.Rules),
	)
	err := fs.WalkDir(chart, "chart", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := chart.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(folder, strings.TrimPrefix(path, "chart/")), []byte(constants.Replace(string(content))))
	})
	for i := 0; i < options.Definitions && err == nil; i++ {
		err = writeDefinition(folder, i, options)
	}
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// writeDefinition writes one definition where Helm installs it before anything else.
func writeDefinition(folder string, index int, options chartOptions) error {
	kind := "Rule"
	if index > 0 {
		kind = fmt.Sprintf("Kind%02d", index)
	}
	plural := strings.ToLower(kind) + "s"
	random := rand.New(rand.NewPCG(0, uint64(index))) //nolint:gosec // it must always be the same
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + options.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: options.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schemaOf(options.DefinitionBytes, random)},
			}},
		},
	}
	content, err := yaml.Marshal(definition)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", definition.Name, err)
	}
	return write(filepath.Join(folder, "charts", "definitions", "crds", plural+".yaml"), content)
}

// schemaOf returns a schema of about that many bytes.
func schemaOf(bytes int, random *rand.Rand) *apiextensionsv1.JSONSchemaProps {
	const bytesOfField, fieldsOfGroup = 730, 10
	groups := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range max(1, bytes/bytesOfField/fieldsOfGroup) {
		fields := map[string]apiextensionsv1.JSONSchemaProps{}
		for j := range fieldsOfGroup {
			fields[fmt.Sprintf("field%d", j)] = fieldOf(j, random)
		}
		groups[fmt.Sprintf("group%d", i)] = apiextensionsv1.JSONSchemaProps{
			Type: "array", Description: "Settings of one part, which are applied in their order.",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}},
		}
	}
	preserve := true
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: groups, XPreserveUnknownFields: &preserve},
	}}
}

// words are what descriptions consist of. These do not compress better than those of real definitions.
var words = strings.Fields(`the a of to in that is for and this be by with if are not or an it as which when must can will on set only name list value
	field object default pod container volume label selector namespace resource request limit secret service port path template rule key version type
	reference condition status policy number seconds node time version authority endpoint certificate protocol address image command argument config
	claim storage class group role user account token header method target interval timeout retry queue shard replica update strategy annotation`)

func fieldOf(index int, random *rand.Rand) apiextensionsv1.JSONSchemaProps {
	description := make([]string, 70)
	for i := range description {
		description[i] = words[random.IntN(len(words))]
	}
	field := apiextensionsv1.JSONSchemaProps{Type: "string", Description: strings.Join(description, " ")}
	if index%3 == 0 {
		field.Type, field.Format = "integer", "int32"
	}
	return field
}

func write(path string, content []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600))
}
