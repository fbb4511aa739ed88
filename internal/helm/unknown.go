// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	gotemplate "text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
)

// UnknownValue is a value given by a user that no part of a chart has.
type UnknownValue struct {
	// Path consists of the keys, as in a.b["c.d"]. Keys are quoted unless they consist of letters, digits, _ and -.
	Path string
	// Suggestion is the path that was probably meant; empty if none is near.
	Suggestion string
}

// UnknownValues returns the given values that Helm silently ignores, sorted by path: those that are neither in the
// defaults nor in the schemas of the chart and its dependencies, and that no template reads. Of an unknown map, it
// returns the map itself, not what is below it. It does not look into lists.
//
// It does not return values that are used. Hence it misses mistakes below a map that a template uses as a whole, and all
// mistakes in the values of a chart that uses .Values as a whole or has a template that cannot be parsed. The error says
// which value has no JSON form.
func (c *Chart) UnknownValues(given map[string]any) ([]UnknownValue, error) {
	values, err := manifest.Normalize(given)
	if err != nil {
		return nil, err
	}
	r := &reading{taken: taken{}, definitions: map[string][]string{}, strings: []string{fmt.Sprint(values)}}
	r.collect(c.parsed)
	r.add("", c.parsed)
	return r.taken.unknown("", values), nil
}

// taken has the paths of the values that a chart takes, each key after a dot or in brackets. It is true for a map that is
// taken as a whole, with keys of any name.
type taken map[string]bool

// set adds a path, as a whole or not. What is whole stays whole.
func (t taken) set(path string, whole bool) { t[path] = t[path] || whole }

// add adds the values on a path below another, and returns the longer one.
func (t taken) add(path string, keys ...string) string {
	for _, key := range keys {
		path = below(path, key)
		t.set(path, false)
	}
	return path
}

// copy adds the values at and below a path elsewhere.
func (t taken) copy(from, to string) {
	for path, whole := range maps.Clone(t) {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			t.set(to+rest, whole)
		}
	}
}

func (t taken) addDefaults(path string, values map[string]any) {
	for key, value := range values {
		inner, _ := value.(map[string]any)
		at := t.add(path, key)
		t.set(at, len(inner) == 0)
		t.addDefaults(at, inner)
	}
}

// addSchema adds what a schema describes, or a list of schemas. The root is that of the file; refs are the references
// that led to the schema. A map is whole if keys of any name are described, or a reference leads to itself or elsewhere.
// So is one for which the budget, a number of schemas, is spent.
func (t taken) addSchema(path string, root map[string]any, schema any, budget *int, refs ...string) {
	if *budget--; *budget < 0 {
		t.set(path, true)
		return
	}
	parts, _ := schema.([]any)
	for _, part := range parts {
		t.addSchema(path, root, part, budget, refs...)
	}
	keywords, _ := schema.(map[string]any)
	for keyword, value := range keywords {
		inner, isMap := value.(map[string]any)
		switch keyword {
		case "$ref":
			ref := fmt.Sprint(value)
			target, found, _ := unstructured.NestedFieldNoCopy(root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			if found = found && !slices.Contains(refs, ref); found {
				t.addSchema(path, root, target, budget, append(slices.Clip(refs), ref)...)
			}
			t.set(path, !found)
		case "allOf", "anyOf", "oneOf", "if", "then", "else":
			t.addSchema(path, root, value, budget, refs...)
		case "additionalProperties", "unevaluatedProperties", "patternProperties":
			t.set(path, isMap || value == true)
		case "properties":
			for key, property := range inner {
				t.addSchema(t.add(path, key), root, property, budget, refs...)
			}
		}
	}
}

// maxSchemas is how many schemas of a chart are read, with those to which references lead again and again.
const maxSchemas = 100_000

var (
	// valuesRead matches a chain of fields after .Values, which has methods, too, and literal keys if the chain is the
	// argument of a function that gets a value by its key. It also matches an access to Values by that name.
	valuesRead = regexp.MustCompile(`(?:[\s({|](index|get|hasKey)\s+[$\w.]*)?\.Values\b(?:\.(?:AsMap|Encode|PathValue|Table|YAML)\b|((?:\.[\pL\pN_]+)*))((?:\s+"[^"\\\s]+")*)` +
		`|\b(?:index|get|dig|pluck)\s[^{}]{0,200}"Values"`)
	// include matches an include, except for files of the same chart, with the name of the template or the beginning of an
	// expression for it.
	include = regexp.MustCompile(`\b(?:include|template)\s+(?:\(printf? (?:"[^"]*" )?[$\w.]*\.Template\.BasePath|\\?["\x60]([^"\x60\\%]+)["\x60\\]|([$.("\x60\\%]))`)
	// plainKey matches keys that need no quotes.
	plainKey = regexp.MustCompile(`^[\pL\pN_-]+$`)
)

// addReads adds what a template reads below a path.
func (t taken) addReads(path, template string) {
	for _, match := range valuesRead.FindAllStringSubmatch(template, -1) {
		function, keys := match[1], keysIn(match[2])
		if function != "" {
			keys = append(keys, strings.Fields(strings.ReplaceAll(match[3], `"`, " "))...)
		}
		t.set(t.add(path, keys...), true)
	}
}

// reading collects what a chart and its dependencies take.
type reading struct {
	taken taken
	// definitions are templates by name, including files. Charts may define the same name.
	definitions map[string][]string
	// strings are values and other files, which any chart may use as templates.
	strings []string
	// isShared means that charts use the values of their dependencies, with templates of any chart.
	isShared bool
}

// collect reads the templates of a chart and its dependencies, without comments.
func (r *reading) collect(parsed *chart.Chart) {
	r.strings = append(r.strings, fmt.Sprint(parsed.Values))
	for _, file := range parsed.Files {
		r.strings = append(r.strings, string(file.Data))
	}
	for _, file := range parsed.Templates {
		name, text := parsed.ChartFullPath()+"/"+file.Name, string(file.Data)
		r.isShared = r.isShared || strings.Contains(text, ".Subcharts")
		tree, trees := gotemplate.New(name), map[string]*gotemplate.Tree{}
		tree.Mode = gotemplate.SkipFuncCheck
		if _, err := tree.Parse(text, "", "", trees); err != nil {
			r.definitions[name] = []string{".Values"} // any
		}
		for defined, tree := range trees {
			r.definitions[defined] = append(r.definitions[defined], tree.Root.String())
		}
	}
	for _, dependency := range parsed.Dependencies() {
		r.collect(dependency)
	}
}

// templatesOf returns the templates that may be rendered with the values of a chart: its files, strings, and all that they
// may include.
func (r *reading) templatesOf(parsed *chart.Chart) []string {
	templates := slices.DeleteFunc(append(slices.Clone(r.strings), "{{"), func(text string) bool { return !strings.Contains(text, "{{") })
	folder, seen := parsed.ChartFullPath()+"/templates/", map[string]bool{}
	for i := 0; i < len(templates); i++ {
		included, isOpen := map[string]bool{}, r.isShared
		for _, match := range include.FindAllStringSubmatch(templates[i], -1) {
			included[match[1]], isOpen = true, isOpen || match[2] != ""
		}
		for name, definitions := range r.definitions {
			if !seen[name] && (isOpen || included[name] || strings.HasPrefix(name, folder)) {
				seen[name] = true
				templates = append(templates, definitions...)
			}
		}
	}
	return templates
}

// add adds what a chart takes, below a path.
func (r *reading) add(path string, parsed *chart.Chart) {
	r.taken.addDefaults(path, parsed.Values)
	var schema map[string]any
	_ = json.Unmarshal(parsed.Schema, &schema) // a broken one has its own message
	budget := maxSchemas
	r.taken.addSchema(path, schema, schema, &budget)
	for _, template := range r.templatesOf(parsed) {
		r.taken.addReads(path, template)
	}
	declarations := slices.Clone(parsed.Metadata.Dependencies)
	for _, dependency := range parsed.Dependencies() {
		if !declares(parsed, dependency.Name()) {
			declarations = append(declarations, &chart.Dependency{Name: dependency.Name()})
		}
	}
	for _, declared := range declarations {
		at := r.taken.add(path, cmp.Or(declared.Alias, declared.Name))
		for _, dependency := range parsed.Dependencies() {
			if dependency.Name() == declared.Name {
				r.add(at, dependency)
			}
		}
		r.declare(path, at, declared)
	}
}

// declare adds what the declaration of a dependency makes of the values of the parent and the dependency.
func (r *reading) declare(parent, dependency string, declared *chart.Dependency) {
	// The dependency gets the global values.
	global := r.taken.add(parent, "global")
	r.taken.set(global, r.taken[dependency])
	r.taken.copy(r.taken.add(dependency, "global"), global)
	for _, tag := range declared.Tags {
		r.taken.add("", "tags", tag)
	}
	for _, condition := range strings.Split(declared.Condition, ",") {
		r.taken.add(parent, keysIn(condition)...)
	}
	for _, imported := range declared.ImportValues {
		from, to := fmt.Sprint("exports.", imported), ""
		if item, ok := imported.(map[string]any); ok {
			from, to = fmt.Sprint(item["child"]), fmt.Sprint(item["parent"])
		}
		source := r.taken.add(dependency, keysIn(from)...)
		r.taken.copy(source, r.taken.add(parent, keysIn(to)...))
		r.taken.set(source, true)
	}
}

// keysIn returns the keys in a path with dots; none for "." and "".
func keysIn(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
}

// unknown returns the given values below a path that are not taken.
func (t taken) unknown(path string, given map[string]any) []UnknownValue {
	if t[path] {
		return nil
	}
	var found []UnknownValue
	for _, key := range slices.Sorted(maps.Keys(given)) {
		at := below(path, key)
		if _, isTaken := t[at]; !isTaken {
			found = append(found, UnknownValue{Path: strings.TrimPrefix(at, "."), Suggestion: strings.TrimPrefix(t.suggestion(path, key), ".")})
		} else if values, ok := given[key].(map[string]any); ok {
			found = append(found, t.unknown(at, values)...)
		}
	}
	return found
}

// suggestion returns the path that was probably meant: the shortest one with the same last key, the nearest beside it, or
// one that differs in dots and capital letters.
func (t taken) suggestion(path, key string) string {
	depth := func(path string) int { return strings.Count(path, ".") }
	var same, beside []string
	respelt := ""
	for _, known := range slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b)) }) {
		if strings.HasSuffix(known, below("", key)) {
			same = append(same, known)
		}
		if last, ok := strings.CutPrefix(known, path+"."); ok && !strings.ContainsAny(last, ".[") {
			beside = append(beside, last)
		}
		if strings.EqualFold(strings.ReplaceAll(known, ".", ""), strings.ReplaceAll(path+key, ".", "")) {
			respelt = known
		}
	}
	if len(same) == 1 || len(same) > 1 && depth(same[0]) < depth(same[1]) {
		return same[0]
	}
	near := cmp.Or(texts.Nearest(key, beside), alikeAtFirst(key, beside))
	if near != "" {
		return below(path, near)
	}
	return respelt
}

// alikeAtFirst returns the key that shares most of its beginning with another one, at least half of that, as replicas
// and replicaCount do; empty if there is none.
func alikeAtFirst(key string, others []string) string {
	most, found := max((len(key)+1)/2, 4)-1, ""
	for _, other := range others {
		shared := 0
		for shared < min(len(key), len(other)) && key[shared] == other[shared] {
			shared++
		}
		if shared > most {
			most, found = shared, other
		}
	}
	return found
}

// below returns the path of a key.
func below(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	return path + fmt.Sprintf("[%q]", key)
}
