// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// separator divides the keys of a path. No YAML key has it.
const separator = "\x00"

// A remark is what values.yaml says about a value beside the value.
type remark struct {
	text  string
	float bool // written with a fraction, such as 1.0
}

// parameter is how Bitnami documents values: ## @param path.to.key [array] Text.
var parameter = regexp.MustCompile(`^@param\s+(\S+)\s*(?:\[[^\]]*\])?\s*(.*)$`)

// typeHint is how helm-docs overrides a type: # -- (int) Text.
var typeHint = regexp.MustCompile(`^\([A-Za-z/]+\)\s*`)

// example is how a commented-out value looks: key:, key: value, - element.
var example = regexp.MustCompile(`^\s*(?:- .*|-|[a-z"'][A-Za-z0-9_."'/-]*:(?:\s.*)?)$`)

// readRemarks returns the remarks on all values, by the keys that lead to them.
func readRemarks(content []byte) (map[string]remark, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("reading the comments of values.yaml: %w", err)
	}
	remarks := map[string]remark{}
	if document.Kind == yaml.DocumentNode && len(document.Content) > 0 {
		collectRemarks(document.Content[0], "", remarks)
	}
	for path, text := range parameters(content) {
		r := remarks[path]
		r.text = text
		remarks[path] = r
	}
	return remarks, nil
}

func collectRemarks(node *yaml.Node, path string, remarks map[string]remark) {
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		full := key.Value
		if path != "" {
			full = path + separator + key.Value
		}
		text := commentText(key.HeadComment)
		if text == "" {
			text = commentText(value.LineComment)
		}
		if text == "" {
			text = commentText(key.LineComment)
		}
		remarks[full] = remark{text: text, float: value.Kind == yaml.ScalarNode && value.Tag == "!!float"}
		collectRemarks(value, full, remarks)
	}
}

// parameters returns what @param lines say, by path.
func parameters(content []byte) map[string]string {
	texts := map[string]string{}
	for line := range strings.SplitSeq(string(content), "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			continue
		}
		match := parameter.FindStringSubmatch(strings.TrimSpace(strings.TrimLeft(line, "#")))
		if len(match) > 2 && match[2] != "" {
			texts[strings.ReplaceAll(match[1], ".", separator)] = match[2]
		}
	}
	return texts
}

// commentText returns the prose of a comment. Of several paragraphs the last one counts: those before it belong to a
// section. What is not prose is left out: annotations of generators, and values that are commented out.
func commentText(comment string) string {
	paragraphs := strings.Split(strings.TrimSpace(comment), "\n\n")
	var lines []string
	skipping := false
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		line = strings.TrimRight(strings.TrimPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " "), " \t")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "@schema"):
			skipping = !skipping
		case skipping, strings.HasPrefix(trimmed, "@"), trimmed == "", isRuler(trimmed):
		case strings.HasPrefix(trimmed, "-- "), trimmed == "--":
			// helm-docs: the description begins here.
			lines = []string{typeHint.ReplaceAllString(strings.TrimSpace(strings.TrimPrefix(trimmed, "--")), "")}
		case example.MatchString(line), strings.HasPrefix(line, "  ") && len(lines) == 0:
			return sentence(lines)
		default:
			lines = append(lines, trimmed)
		}
	}
	return sentence(lines)
}

// sentence returns the lines as one. A colon at the end announced an example that is left out.
func sentence(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, " "))
	if announced, ok := strings.CutSuffix(text, ":"); ok {
		text = announced + "."
	}
	return text
}

// isRuler reports whether a line has nothing but drawing.
func isRuler(line string) bool {
	return strings.Trim(line, "-=*#~_+ ") == ""
}
