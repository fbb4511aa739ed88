// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// jsonWriter writes JSON in one line.
type jsonWriter struct {
	text         strings.Builder
	comma, colon string
}

// writeJSON returns JSON with the layout of another one: in one line, or with the indentation of its first key. Numbers keep their digits.
func writeJSON(root *yaml.Node, like string) (string, error) {
	w := &jsonWriter{comma: ", ", colon: ": "}
	if strings.Contains(like, `":`) && !strings.Contains(like, `": `) {
		w.comma, w.colon = ",", ":"
	}
	if err := w.write(root); err != nil {
		return "", err
	}
	content := strings.TrimSpace(like)
	ending := like[strings.LastIndex(like, content)+len(content):]
	_, rest, several := strings.Cut(content, "\n")
	if !several {
		return w.text.String() + ending, nil
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(w.text.String()), "", rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]); err != nil {
		return "", err
	}
	return indented.String() + ending, nil
}

func (w *jsonWriter) write(node *yaml.Node) error {
	if node.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("the entry is JSON, which has no form for the tag %s; must be a value without a tag", node.Tag)
	}
	opening, closing := "[", "]"
	if isMap(node) {
		opening, closing = "{", "}"
	} else if node.Kind != yaml.SequenceNode {
		return w.writeScalar(node)
	}
	w.text.WriteString(opening)
	for i, child := range node.Content {
		isValue := isMap(node) && i%2 == 1
		switch {
		case isValue:
			w.text.WriteString(w.colon)
		case i > 0:
			w.text.WriteString(w.comma)
		}
		if isMap(node) && !isValue {
			w.text.WriteString(textJSON(child.Value))
		} else if err := w.write(child); err != nil {
			return err
		}
	}
	w.text.WriteString(closing)
	return nil
}

func (w *jsonWriter) writeScalar(scalar *yaml.Node) error {
	tag := scalar.ShortTag()
	switch {
	case tag == "!!null":
		w.text.WriteString("null")
	case scalar.Style&quoted != 0 && tag == "!!str" || tag == "!!str" && isPlain(scalar.Value):
		w.text.WriteString(textJSON(scalar.Value))
	case tag != "!!str" && json.Valid([]byte(scalar.Value)):
		w.text.WriteString(scalar.Value)
	default:
		return fmt.Errorf("the entry is JSON, which has no form for %s; must be a JSON value, such as true or %q", scalar.Value, scalar.Value)
	}
	return nil
}

// textJSON returns a text as a JSON string, in which only those characters are escaped that must be.
func textJSON(text string) string {
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always has a JSON form
	return strings.TrimSuffix(encoded.String(), "\n")
}
