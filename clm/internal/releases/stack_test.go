// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stack makes a content of the size of a large chart: 123 objects, of which 10 are definitions of types with 100 to 500 kB each. Each further edit changes
// three objects. The version is in a label of all objects, and in an annotation of the definitions.
func stack(edits int, version string) Content {
	w := wordsmith{rand.New(rand.NewPCG(1, 2))}
	result := Content{Values: map[string]any{"version": version, "edits": int64(edits)}}
	for i := range 10 {
		result.Manifest = append(result.Manifest, w.definition(i, 100_000+i*44_000, version))
	}
	for i := range 113 {
		name := fmt.Sprintf("stack-%d", i)
		result.Manifest = append(result.Manifest, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": "monitoring", "labels": map[string]any{"app": name, "chart": "stack-" + version}},
			"data":     map[string]any{"dashboard.json": w.sentence(500 + i*120)},
		}})
	}
	for edit := range edits {
		for i := range 3 {
			object := result.Manifest[10+(edit*31+i*17)%113]
			object.Object["data"].(map[string]any)["edit"] = fmt.Sprintf("edit %d of %d: %s", i, edit, w.sentence(200)) //nolint:forcetypeassert // it is set above
		}
	}
	return result
}

// wordsmith makes texts that can be compressed as well as those of real objects.
type wordsmith struct{ *rand.Rand }

func (w wordsmith) word() string {
	return fmt.Sprintf("%016x", uint64(1+w.IntN(900))*0x9e3779b97f4a7c15)[:3+w.IntN(6)] //nolint:gosec // it is small
}

// sentence has that many bytes, or a few more.
func (w wordsmith) sentence(length int) string {
	text := strings.Builder{}
	for text.Len() < length {
		_, _ = text.WriteString(w.word() + " ")
	}
	return text.String()
}

// definition has about that many bytes, in a schema of fields with descriptions.
func (w wordsmith) definition(number, length int, version string) *unstructured.Unstructured {
	phrases := make([]string, 150)
	for i := range phrases {
		phrases[i] = w.sentence(100)
	}
	fields := map[string]any{}
	for size := 0; size < length; size += 450 {
		name := fmt.Sprintf("%s%d", w.word(), size)
		fields[name] = map[string]any{
			"description": phrases[w.IntN(150)] + w.sentence(30) + phrases[w.IntN(150)], "type": "object", "properties": map[string]any{
				w.word(): map[string]any{"type": "string", "description": phrases[w.IntN(150)]}, w.word(): map[string]any{"type": "integer", "format": "int32"},
			},
		}
	}
	name := fmt.Sprintf("type%d.monitoring.example.com", number)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"operator.example.com/version": version}},
		"spec":     map[string]any{"group": "monitoring.example.com", "schema": map[string]any{"properties": fields}},
	}}
}
