// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/texts"
)

// housekeeping are the metadata fields that only the server writes.
var housekeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// content returns the part of the object that is compared, as YAML. It does not modify the object.
func (w *Writer) content(object map[string]any) string {
	if object == nil {
		return ""
	}
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range housekeeping {
			delete(metadata, field)
		}
		object["metadata"] = metadata
	}
	var d document
	if !w.ShowSecrets {
		object = texts.Secret(object, func(value string) any { return w.mask(value) })
	}
	return d.encode(object)
}

// masked stands for a secret value.
type masked string

// mask shows the length and the number of a secret value. A number reveals nothing about the value, whereas a short
// value can be guessed from its digest.
func (w *Writer) mask(value string) masked {
	number, known := w.masks[value]
	if !known {
		number = len(w.masks) + 1
		w.masks[value] = number
	}
	return masked(fmt.Sprintf("%s (%s, #%d)", texts.Mark, Count(len(value), "byte"), number))
}

// document is a YAML document with texts that the encoder would quote: secret values, and texts with several lines, in
// which differences are shown line by line. The encoder writes texts with tabs or trailing blanks on one line.
type document struct {
	texts []string
}

// marker begins the placeholder of a text. It is a character for private use; texts with it get placeholders, too.
const marker = "\ue000"

func (d *document) placeholder(text string) string {
	d.texts = append(d.texts, text)
	return fmt.Sprintf("%s%d", marker, len(d.texts)-1)
}

// encode returns the lines of an object, with sorted keys.
func (d *document) encode(object map[string]any) string {
	encoded, err := yaml.Marshal(d.prepare(object))
	if err != nil {
		return Escape(err.Error())
	}
	var b strings.Builder
	for line := range strings.Lines(string(encoded)) {
		line = strings.TrimSuffix(line, "\n")
		head, number, found := strings.Cut(line, marker)
		var at int
		if _, err := fmt.Sscan(number, &at); !found || err != nil || at >= len(d.texts) {
			b.WriteString(Escape(line) + "\n")
			continue
		}
		b.WriteString(Escape(head) + block(d.texts[at], len(head)-len(strings.TrimLeft(head, " "))+2) + "\n")
	}
	return b.String()
}

// block returns a text as it follows the key of a field.
func block(text string, indent int) string {
	if !strings.Contains(text, "\n") {
		return Escape(text)
	}
	var b strings.Builder
	b.WriteString("|")
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("-")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + Escape(line))
		}
	}
	return b.String()
}

// prepare replaces the texts with several lines in a copy of a value.
func (d *document) prepare(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, element := range value {
			result[key] = d.prepare(element)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, element := range value {
			result[i] = d.prepare(element)
		}
		return result
	case masked:
		return d.placeholder(string(value))
	case string:
		if strings.ContainsAny(value, "\n"+marker) {
			return d.placeholder(value)
		}
	}
	return value
}
