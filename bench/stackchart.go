// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// chart is all of the chart but its definitions. GROUP stands for the group of the custom resources, 0.0.0-VERSION for
// the version of the chart, and N-COMPONENTS, N-DASHBOARDS and N-RULES for how many there are.
//
//go:embed all:chart
var chart embed.FS

// chartSize says what the chart contains: definitions of 60 kB each, monitored components of ten objects each (one in ten
// has a Deployment), dashboards that are ConfigMaps of 20 kB, and rules that are custom resources of 10 kB.
type chartSize struct{ definitions, components, dashboards, rules int }

// writeChart writes the chart into the folder, which is made if it does not exist.
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
		// Helm installs it there before anything else.
		path := filepath.Join(folder, "charts", "definitions", "crds", strings.ToLower(kind)+"s.yaml")
		err = errors.Join(err, write(path, definitionOf(kind, group, rand.New(rand.NewPCG(0, uint64(i)))))) //nolint:gosec // it must always be the same
	}
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// words are what descriptions consist of. These do not compress better than those of real definitions.
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
