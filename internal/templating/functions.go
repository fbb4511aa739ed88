// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/spf13/cast"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// commonFunctions are available unless the options of a Set contain a library. The map must not be changed.
var commonFunctions = newCommonFunctions()

// Sprig returns the functions of sprig, with limits for their results, and without env, expandenv and getHostByName:
// neither authors of templates nor authors of texts for tpl may see the operator's environment or the names that it can
// resolve.
func Sprig() template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.Copy(functions, limitedFunctions(functions))
	return functions
}

func newCommonFunctions() template.FuncMap {
	functions := Sprig()
	for name, function := range map[string]any{
		"toYaml":        toYaml,
		"fromYaml":      fromYaml,
		"fromYamlArray": arrayFrom(fromYaml),
		"toJson":        functions["mustToJson"],
		"toPrettyJson":  checked(functions["mustToPrettyJson"], func(arguments []reflect.Value) error { return CheckEncoding(arguments[0].Interface()) }),
		"toRawJson":     functions["mustToRawJson"],
		"fromJson":      fromJSON,
		"fromJsonArray": arrayFrom(fromJSON),
	} {
		functions[name] = function
		functions["must"+strings.ToUpper(name[:1])+name[1:]] = function
	}
	maps.Copy(functions, map[string]any{
		"required":          required,
		"bitwiseShiftLeft":  shifted(func(value, by uint64) uint64 { return value << by }),
		"bitwiseShiftRight": shifted(func(value, by uint64) uint64 { return value >> by }),
		"bitwiseAnd":        combined(math.MaxUint64, func(x, y uint64) uint64 { return x & y }),
		"bitwiseOr":         combined(0, func(x, y uint64) uint64 { return x | y }),
		"bitwiseXor":        combined(0, func(x, y uint64) uint64 { return x ^ y }),
		"parseIPv4Address":  parseIPv4Address,
		"formatIPv4Address": formatIPv4Address,
	})
	maps.Copy(functions, acyclic(functions))
	return functions
}

// required returns the value. It fails if that is nil or the empty string.
func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

// shifted returns a function that shifts its second argument by the first one.
func shifted(shift func(value, by uint64) uint64) func(by, value any) (uint64, error) {
	return func(by, value any) (uint64, error) {
		number, err := cast.ToUint64E(value)
		if err != nil {
			return 0, err
		}
		return combined(number, shift)(by)
	}
}

// combined returns a function that applies an operation to an initial value and its arguments, from left to right.
func combined(first uint64, operation func(x, y uint64) uint64) func(values ...any) (uint64, error) {
	return func(values ...any) (uint64, error) {
		result := first
		for _, value := range values {
			number, err := cast.ToUint64E(value)
			if err != nil {
				return 0, err
			}
			result = operation(result, number)
		}
		return result, nil
	}
}

// parseIPv4Address returns an address in dotted notation as a number.
func parseIPv4Address(value any) (uint32, error) {
	text, err := cast.ToStringE(value)
	if err != nil {
		return 0, err
	}
	address, err := netip.ParseAddr(text)
	if err != nil || !address.Is4() {
		return 0, fmt.Errorf("%q is not an IPv4 address", text)
	}
	octets := address.As4()
	return binary.BigEndian.Uint32(octets[:]), nil
}

func formatIPv4Address(value any) (string, error) {
	number, err := cast.ToUint32E(value)
	if err != nil {
		return "", err
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number))).String(), nil
}

// toYaml returns YAML without the final line break.
func toYaml(value any) (string, error) {
	if err := CheckEncoding(value); err != nil {
		return "", err
	}
	raw, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(raw), "\n"), nil
}

// fromYaml returns a value of any type. Integers are int64, so they render unchanged.
func fromYaml(text string) (any, error) {
	if err := manifest.CheckSize([]byte(text)); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return fromJSON(string(raw))
}

func fromJSON(text string) (any, error) {
	var value any
	err := utiljson.Unmarshal([]byte(text), &value)
	return value, err
}

// arrayFrom returns a function that decodes an array. Null yields an empty one.
func arrayFrom(read func(text string) (any, error)) func(text string) ([]any, error) {
	return func(text string) ([]any, error) {
		value, err := read(text)
		if err != nil || value == nil {
			return nil, err
		}
		array, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("it is not an array, but a %T", value)
		}
		return array, nil
	}
}

// estimates return the maximum size in bytes of the results of sprig functions for given arguments, which are often
// untrusted.
var estimates = map[string]func(arguments []reflect.Value) float64{
	"repeat":  func(a []reflect.Value) float64 { return float64(a[0].Int()) * float64(a[1].Len()) },
	"indent":  indented,
	"nindent": indented,
	"replace": func(a []reflect.Value) float64 {
		return float64(a[2].Len()) + float64(strings.Count(a[2].String(), a[0].String()))*float64(a[1].Len())
	},
	"join": func(a []reflect.Value) float64 { return joined(a[0].Len(), a[1]) },
	"wrapWith": func(a []reflect.Value) float64 {
		return float64(a[2].Len()) * float64(1+a[1].Len())
	},
	"until":     func(a []reflect.Value) float64 { return items(0, a[0].Int(), 1) },
	"untilStep": func(a []reflect.Value) float64 { return items(a[0].Int(), a[1].Int(), a[2].Int()) },
	"seq": func(a []reflect.Value) float64 {
		bounds, _ := a[0].Interface().([]int)
		switch len(bounds) {
		case 1:
			return items(0, int64(bounds[0]), 1)
		case 2:
			return items(int64(bounds[0]), int64(bounds[1]), 1)
		case 3:
			return items(int64(bounds[0]), int64(bounds[2]), int64(bounds[1]))
		}
		return 0
	},
	"printf":       func(a []reflect.Value) float64 { return formatted(a[0].String(), a[1]) },
	"randAlphaNum": random, "randAlpha": random, "randAscii": random, "randNumeric": random, "randBytes": random,
	"regexReplaceAll": regexReplaced, "mustRegexReplaceAll": regexReplaced, "regexReplaceAllLiteral": regexReplaced, "mustRegexReplaceAllLiteral": regexReplaced,
	"regexMatch": compiled, "mustRegexMatch": compiled, "regexFind": compiled, "mustRegexFind": compiled,
	"regexFindAll": compiled, "mustRegexFindAll": compiled, "regexSplit": compiled, "mustRegexSplit": compiled,
}

// limitedFunctions returns replacements for the functions that have an estimate.
func limitedFunctions(sprig map[string]any) map[string]any {
	limited := map[string]any{}
	for name, estimate := range estimates {
		function := sprig[name]
		if name == "printf" {
			function = fmt.Sprintf
		}
		limited[name] = checked(function, func(arguments []reflect.Value) error {
			if bytes := estimate(arguments); bytes > MaxOutput {
				return fmt.Errorf("the result may have %.0f bytes; at most %d are allowed", bytes, MaxOutput)
			}
			return nil
		})
	}
	return limited
}

// checked returns a function that checks its arguments before it calls the given function, which may be variadic and
// return an error.
func checked(function any, check func(arguments []reflect.Value) error) any {
	value, failure := reflect.ValueOf(function), reflect.TypeFor[error]()
	call := value.Call
	if value.Type().IsVariadic() {
		call = value.CallSlice
	}
	result := value.Type().Out(0)
	signature := reflect.FuncOf(slices.Collect(value.Type().Ins()), []reflect.Type{result, failure}, value.Type().IsVariadic())
	return reflect.MakeFunc(signature, func(arguments []reflect.Value) []reflect.Value {
		if err := check(arguments); err != nil {
			return []reflect.Value{reflect.Zero(result), reflect.ValueOf(err)}
		}
		return append(call(arguments), reflect.Zero(failure))[:2]
	}).Interface()
}

// items returns the size of a list of numbers. Numbers for which the last step might overflow count as too many.
func items(start, stop, step int64) float64 {
	if math.Abs(float64(start)) > math.MaxInt/4 || math.Abs(float64(stop)) > math.MaxInt/4 || math.Abs(float64(step)) > math.MaxInt/4 {
		return math.MaxInt
	}
	if step == 0 {
		return 0
	}
	return 16 * math.Abs((float64(stop)-float64(start))/float64(step))
}

func indented(a []reflect.Value) float64 {
	return float64(a[1].Len()) + float64(a[0].Int())*float64(1+strings.Count(a[1].String(), "\n"))
}

func random(a []reflect.Value) float64 { return 16 * float64(a[0].Int()) }

// regexReplaced assumes that each "$" in the replacement refers to the whole text. It counts the matches only if one
// match per byte would be too many.
func regexReplaced(a []reflect.Value) float64 {
	text, replacement := a[1].String(), a[2].String()
	size := compiled(a)
	if size > MaxOutput {
		return size
	}
	matches := len(text) + 1
	if pattern, err := regexp.Compile(a[0].String()); err == nil && matches*len(replacement) > MaxOutput {
		matches = len(pattern.FindAllStringIndex(text, MaxOutput/len(replacement)+1))
	}
	return max(size, float64(len(text)*(1+strings.Count(replacement, "$")))+float64(matches)*float64(len(replacement)))
}

// compiled returns the memory for matching a regular expression: each instruction may record the positions of all
// groups.
func compiled(a []reflect.Value) float64 {
	pattern := a[0].String()
	if len(pattern) > maxPattern {
		return math.MaxInt
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // the function says so
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return 16 * float64(len(program.Inst)) * float64(program.NumCap+1)
}

// maxPattern is the maximum length of a regular expression, in bytes.
const maxPattern = 4096

// joined returns the length of a list's elements with separators.
func joined(separator int, list reflect.Value) float64 {
	if list.Kind() == reflect.Interface {
		list = list.Elem()
	}
	if list.Kind() != reflect.Slice {
		return 0
	}
	length := float64(list.Len()) * float64(separator)
	for i := range list.Len() {
		if text, ok := list.Index(i).Interface().(string); ok {
			length += float64(len(text))
		}
	}
	return length
}

// verb is a verb of printf, with its width and precision.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?(\d*|\*)(?:\.(?:\[\d+\])?(\d*|\*))?(?:\[\d+\])?[a-zA-Z%]`)

// formatted returns the number of blanks that widths and precisions in a format may yield.
func formatted(format string, arguments reflect.Value) float64 {
	widest, total := 0.0, 0.0
	for i := range arguments.Len() {
		if number := arguments.Index(i).Elem(); number.CanInt() {
			widest = max(widest, float64(number.Int()))
		}
	}
	for _, match := range verb.FindAllStringSubmatch(format, -1) {
		for _, text := range match[1:] {
			if width, err := strconv.Atoi(text); err == nil {
				total += float64(width)
			} else if text == "*" {
				total += widest
			}
		}
	}
	return total
}

// maxDepth is the maximum nesting of values that are encoded as YAML, TOML or indented JSON.
const maxDepth = 200

// CheckEncoding returns an error if a value is nested too deeply to be encoded with indentation in little memory.
func CheckEncoding(value any) error {
	if isDeeper(value, maxDepth) {
		return fmt.Errorf("writing a value: it is nested more than %d levels deep", maxDepth)
	}
	return nil
}

func isDeeper(value any, depth int) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if depth == 0 || isDeeper(member, depth-1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(member any) bool { return depth == 0 || isDeeper(member, depth-1) })
	}
	return false
}

const (
	// MaxOutput is the limit for all texts of a rendering together, in bytes: 16 MiB.
	MaxOutput = 16 << 20
	// MaxDepth is the maximum number of nested calls of include and tpl.
	MaxDepth = 1000
	// maxFrames protects the stack of the process, because the action template may nest a hundred thousand times
	// between two calls of include.
	maxFrames = 100_000
)

// noValue is what text/template writes for nil.
const noValue = "<no value>"

// limits counts the output and the nested calls of a rendering.
type limits struct {
	depth       int
	output      int
	keepNoValue bool
}

// limitError means that a template exceeded a limit.
type limitError struct {
	template string
	text     string
}

func (e *limitError) Error() string { return fmt.Sprintf("template %q %s", e.template, e.text) }

// enter must be called before a template is rendered within another one. The name is for errors.
func (l *limits) enter(name string) error {
	var frame [1]uintptr
	if l.depth >= MaxDepth || runtime.Callers(maxFrames, frame[:]) > 0 {
		return &limitError{name, fmt.Sprintf("is rendered within itself or others too deeply; at most %d levels are allowed", MaxDepth)}
	}
	l.depth++
	return nil
}

func (l *limits) leave() { l.depth-- }

// output collects the text of one template.
type output struct {
	strings.Builder
	name   string
	limits *limits
}

// Write drops the text for nil unless it is kept for now. text/template writes each value separately.
func (o *output) Write(text []byte) (int, error) {
	if !o.limits.keepNoValue && string(text) == noValue {
		return len(text), nil
	}
	if o.limits.output+len(text) > MaxOutput {
		return 0, &limitError{o.name, fmt.Sprintf("yields too much text; at most %d bytes are allowed", MaxOutput)}
	}
	o.limits.output += len(text)
	return o.Builder.Write(text)
}

// complete returns the final text of a file or of tpl.
func (o *output) complete() string {
	if o.limits.keepNoValue {
		return strings.ReplaceAll(o.String(), noValue, "")
	}
	return o.String()
}

// release must be called when the text is dropped.
func (o *output) release() { o.limits.output -= o.Len() }
