// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
)

// A source is a parsed chart with its subcharts. Paths are keys joined by separators.
type source struct {
	defaults map[string]any // numbers are json.Number; with those of subcharts
	remarks  map[string]remark
	// charts are the chart itself, with the empty path, and its subcharts.
	charts map[string]subchart
}

// A subchart contains what is known of a chart beside its defaults.
type subchart struct {
	schema *jsonschema.Schema // nil if it has none
	// switched means that the subchart can be switched off, off that it is off by default.
	switched, off bool
}

// load reads a chart and its subcharts. The path is that of the chart's values within those of the outermost parent.
func load(chart helm.Anatomy, path string) (*source, error) {
	s := &source{charts: map[string]subchart{"": {}}}
	var err error
	if s.defaults, err = readValues(chart.Values); err != nil {
		return nil, in(path, err)
	}
	if s.remarks, err = readRemarks(chart.Values); err != nil {
		return nil, in(path, err)
	}
	if len(chart.Schema) > 0 {
		schema, err := compile(chart.Schema)
		if err != nil {
			return nil, in(path, err)
		}
		s.charts[""] = subchart{schema: schema}
	}
	for _, d := range chart.Dependencies {
		key := cmp.Or(d.Alias, d.Name)
		if key == "" {
			return nil, in(path, errors.New("a dependency has no name"))
		}
		below, err := load(d, join(path, key))
		if err != nil {
			return nil, err
		}
		if err := s.adopt(key, d, below); err != nil {
			return nil, in(path, err)
		}
	}
	s.addSwitches(chart.Dependencies)
	return s, nil
}

// addSwitches adds the values that switch subcharts on and off in Helm, and the global values. A subchart without
// switches is on.
func (s *source) addSwitches(dependencies []helm.Anatomy) {
	add := func(path []string, value any, text string) {
		existing, _, err := unstructured.NestedFieldNoCopy(s.defaults, path...)
		if err == nil && existing == nil {
			err = unstructured.SetNestedField(s.defaults, value, path...)
		}
		if full := strings.Join(path, separator); err == nil && s.remarks[full].text == "" {
			s.remarks[full] = remark{text: text}
		}
	}
	for _, d := range dependencies {
		for _, condition := range conditions(d) {
			add(strings.Split(condition, "."), true, "Switches a subchart on and off.")
		}
		for _, tag := range d.Tags {
			add([]string{"tags", tag}, true, "Switches subcharts on and off.")
		}
	}
	if len(dependencies) > 0 {
		add([]string{"global"}, map[string]any{}, "Values for all charts.")
	}
}

// in adds the subchart to an error.
func in(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("subchart %q: %w", path, err)
}

// conditions returns the paths of values that switch a subchart on and off.
func conditions(d helm.Anatomy) []string {
	return strings.FieldsFunc(d.Condition, func(c rune) bool { return c == ',' || c == ' ' })
}

// adopt puts a subchart below its parent, whose defaults win.
func (s *source) adopt(key string, d helm.Anatomy, below *source) error {
	delete(below.defaults, "global")
	switch own := s.defaults[key].(type) {
	case nil:
		s.defaults[key] = below.defaults
	case map[string]any:
		s.defaults[key] = merge(below.defaults, own)
	default:
		return fmt.Errorf("values.yaml: %q is the name of a subchart and must be an object, not %s", key, literal(own))
	}
	for path, r := range below.remarks {
		full := within(key, path)
		if own, ok := s.remarks[full]; ok && own.text != "" {
			r.text = own.text
		}
		s.remarks[full] = r
	}
	for path, chart := range below.charts {
		full := within(key, path)
		if path == "" {
			full = key
			chart.switched = d.Condition != "" || len(d.Tags) > 0
			chart.off = !isOn(d, s.defaults)
		}
		s.charts[full] = chart
	}
	return nil
}

// readValues reads values.yaml like Helm does, but keeps integers apart from other numbers.
func readValues(content []byte) (map[string]any, error) {
	var values any
	err := yaml.Unmarshal(content, &values, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
	if err != nil {
		return nil, fmt.Errorf("reading values.yaml: %w", err)
	}
	switch values := values.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return values, nil
	default:
		return nil, fmt.Errorf("values.yaml: the root is %s: must be an object", literal(values))
	}
}

// merge lays values of higher precedence over others, like Helm does: objects key by key, everything else as a whole;
// null removes a key. The arguments are not changed.
func merge(low, high map[string]any) map[string]any {
	merged := maps.Clone(low)
	for key, value := range high {
		lower, lowerIsMap := merged[key].(map[string]any)
		higher, higherIsMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case lowerIsMap && higherIsMap:
			merged[key] = merge(lower, higher)
		default:
			merged[key] = value
		}
	}
	return merged
}

// isOn reports whether the subchart is part of a release with the parent's values. The first condition that is a
// boolean decides; without one, tags decide.
func isOn(d helm.Anatomy, parent map[string]any) bool {
	for _, path := range conditions(d) {
		if value, found, err := unstructured.NestedBool(parent, strings.Split(path, ".")...); found && err == nil {
			return value
		}
	}
	tags, _ := parent["tags"].(map[string]any)
	var given []any
	for _, tag := range d.Tags {
		given = append(given, tags[tag])
	}
	return slices.Contains(given, any(true)) || !slices.Contains(given, any(false))
}

// schemas adds the schema of the subchart at a path, if any, to the given ones.
func (s *source) schemas(path string, given []*jsonschema.Schema) []*jsonschema.Schema {
	if chart := s.charts[path]; chart.schema != nil {
		return append(slices.Clip(given), chart.schema)
	}
	return given
}

// below returns the names of the subcharts directly below a value.
func (s *source) below(path string) []string {
	var names []string
	for _, below := range slices.Sorted(maps.Keys(s.charts)) {
		name := below[strings.LastIndex(below, separator)+1:]
		if name != "" && below == within(path, name) {
			names = append(names, name)
		}
	}
	return names
}

// isChart reports whether a value contains the values of a chart.
func (s *source) isChart(path string) bool {
	_, exists := s.charts[path]
	return exists
}

// A fallback is the default of a value, which applies if the user does not set it.
type fallback struct {
	value any
	set   bool // false also for null
	path  string
}

// below returns the default of a field.
func (f fallback) below(name string) fallback {
	fields, _ := f.value.(map[string]any)
	value := fields[name]
	return fallback{value: value, set: value != nil, path: within(f.path, name)}
}

// keys returns the names of fields that values.yaml has below this value, sorted.
func (f fallback) keys() []string {
	fields, _ := f.value.(map[string]any)
	return slices.Sorted(maps.Keys(fields))
}

// separator separates the keys of a path. No YAML key contains it.
const separator = "\x00"

// within joins two paths. The upper one may be the root, the lower one may be an empty key.
func within(path, below string) string {
	if path == "" {
		return below
	}
	return path + separator + below
}

// A remark is what values.yaml contains about a value besides the value.
type remark struct {
	text  string
	float bool // written with a fraction, such as 1.0
}

// parameter matches Bitnami's documentation of values: ## @param path.to.key [array] Text.
var parameter = regexp.MustCompile(`^@param\s+(\S+)\s*(?:\[[^\]]*\])?\s*(.*)$`)

// typeHint matches a type override of helm-docs: # -- (int) Text.
var typeHint = regexp.MustCompile(`^\([A-Za-z/]+\)\s*`)

// example matches a value that is commented out: key:, key: value, - element.
var example = regexp.MustCompile(`^\s*(?:- .*|-|[a-z"'][A-Za-z0-9_."'/-]*:(?:\s.*)?)$`)

// aside matches a line that announces an example, a list or a reference.
var aside = regexp.MustCompile(`^(?:(?:Examples?|Refs?|References?|e\.g\.):.*|\p{Lu}.*:)$`)

// readRemarks returns the remarks on all values, by path.
func readRemarks(content []byte) (map[string]remark, error) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("reading the comments of values.yaml: %w", err)
	}
	remarks := map[string]remark{}
	if document.Kind == yamlv3.DocumentNode && len(document.Content) > 0 {
		collectRemarks(document.Content[0], "", remarks)
	}
	for path, text := range parameters(content) {
		if r := remarks[path]; text != "" {
			r.text = sentence(strings.Split(text, "\n"))
			remarks[path] = r
		}
	}
	return remarks, nil
}

func collectRemarks(node *yamlv3.Node, path string, remarks map[string]remark) {
	if node.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		full := within(path, key.Value)
		text := cmp.Or(commentText(key.HeadComment), commentText(value.LineComment), commentText(key.LineComment))
		remarks[full] = remark{text: text, float: value.Kind == yamlv3.ScalarNode && value.Tag == "!!float"}
		collectRemarks(value, full, remarks)
	}
}

// wrapped matches the end of a line after which a text goes on, with a new sentence if that begins with a capital letter.
var wrapped = regexp.MustCompile(`([^.!?:;,])\n(\p{Lu}\p{Ll})`)

// parameters returns the texts of @param lines and the lines below them, by path. What is no prose ends a text.
func parameters(content []byte) map[string]string {
	texts := map[string]string{}
	path := "" // of the last parameter, while its text goes on
	for line := range strings.SplitSeq(string(content), "\n") {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		comment = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		match := parameter.FindStringSubmatch(comment)
		switch {
		case isComment && match != nil:
			path = strings.ReplaceAll(match[1], ".", separator)
			texts[path] = match[2]
		case !isComment, isRuler(comment), strings.HasPrefix(comment, "@"), example.MatchString(comment), aside.MatchString(comment):
			path = ""
		case path != "":
			texts[path] = wrapped.ReplaceAllString(texts[path]+"\n"+comment, "$1. $2")
		}
	}
	return texts
}

// commentText returns the prose of a comment. Only the last paragraph counts, because earlier ones describe a section.
// Annotations for generators and commented-out values are left out.
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
		case skipping, strings.HasPrefix(trimmed, "@"), isRuler(trimmed):
		case strings.HasPrefix(trimmed, "-- "), trimmed == "--":
			// In helm-docs, the description begins here.
			lines = []string{typeHint.ReplaceAllString(strings.TrimSpace(strings.TrimPrefix(trimmed, "--")), "")}
		case example.MatchString(line), strings.HasPrefix(line, "  ") && len(lines) == 0:
			return sentence(lines)
		default:
			lines = append(lines, trimmed)
		}
	}
	return sentence(lines)
}

// sentence joins lines. A colon at the end becomes a full stop, because the example after it is left out.
func sentence(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, " "))
	if announced, ok := strings.CutSuffix(text, ":"); ok {
		text = announced + "."
	}
	return text
}

// isRuler reports whether a line consists only of characters for drawing.
func isRuler(line string) bool {
	return strings.Trim(line, "-=*#~_+ ") == ""
}

// schemaURL is the address that Helm uses when it compiles a schema.
const schemaURL = "file:///values.schema.json"

type noLoader struct{}

// Load returns an error: a schema must not make scaffold read files or fetch addresses that its author chose.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("only references within the schema are allowed, such as #/definitions/name")
}

// compile reads a schema in any draft that Helm supports.
func compile(content []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading values.schema.json as JSON: %w", err)
	}
	if _, isBool := document.(bool); isBool {
		return nil, errors.New("values.schema.json: the root is true or false: must be an object with keywords")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("reading values.schema.json: %w", err)
	}
	schema, err := safely(func() (*jsonschema.Schema, error) { return compiler.Compile(schemaURL) })
	if err != nil {
		return nil, fmt.Errorf("compiling values.schema.json: %w", err)
	}
	return schema, nil
}

// safely turns a panic of the library into an error, like Helm does.
func safely[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("unusable schema: %v", r)
		}
	}()
	return call()
}

// accepts reports whether all schemas accept a value.
func accepts(schemas []*jsonschema.Schema, value any) bool {
	return !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool {
		_, err := safely(func() (struct{}, error) { return struct{}{}, s.Validate(value) })
		return err != nil
	})
}

// literal returns a value as JSON for comments.
func literal(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(out.String())
}
