// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// limitedFunctions returns replacements for those functions of sprig whose arguments decide how much they generate.
// Untrusted values are often among these arguments.
func limitedFunctions(sprig map[string]any) map[string]any {
	limited := map[string]any{
		"repeat": func(count int, text string) (string, error) {
			if count < 0 || (count > 0 && len(text) > MaxOutput/count) {
				return "", fmt.Errorf("repeating %d bytes %d times: the result must have from 0 to %d bytes", len(text), count, MaxOutput)
			}
			return strings.Repeat(text, count), nil
		},
		"replace": replace,
		"join":    joinOf(sprig),
		"indent":  indent,
		"nindent": func(blanks int, text string) (string, error) {
			indented, err := indent(blanks, text)
			return "\n" + indented, err
		},
		"printf":                 printf,
		"regexReplaceAll":        regexReplace((*regexp.Regexp).ReplaceAllString),
		"regexReplaceAllLiteral": regexReplace((*regexp.Regexp).ReplaceAllLiteralString),
	}
	limited["mustRegexReplaceAll"], limited["mustRegexReplaceAllLiteral"] = limited["regexReplaceAll"], limited["regexReplaceAllLiteral"]
	integer := func(argument reflect.Value) int { return int(argument.Int()) }
	checks := map[string]func(arguments []reflect.Value) error{
		"until":     func(arguments []reflect.Value) error { return checkItems(math.Abs(float64(arguments[0].Int()))) },
		"untilStep": func(a []reflect.Value) error { return checkSteps(integer(a[0]), integer(a[1]), integer(a[2])) },
		"seq": func(arguments []reflect.Value) error {
			bounds, _ := arguments[0].Interface().([]int)
			return checkSequence(bounds)
		},
		"wrapWith": func(arguments []reflect.Value) error {
			return checkLength("wrapping", float64(arguments[2].Len())*float64(1+arguments[1].Len()))
		},
	}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes"} {
		checks[name] = func(arguments []reflect.Value) error { return checkItems(float64(arguments[0].Int())) }
	}
	for _, name := range []string{"Match", "Find", "FindAll", "Split"} {
		check := func(arguments []reflect.Value) error { return checkPattern(arguments[0].String()) }
		checks["regex"+name], checks["mustRegex"+name] = check, check
	}
	for name, check := range checks {
		limited[name] = checked(sprig[name], check)
	}
	return limited
}

// checked returns a function that checks its arguments before it calls the given one, which may be variadic and return
// an error.
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

func replace(old, replacement, text string) (string, error) {
	if err := checkLength("replacing", float64(len(text))+float64(strings.Count(text, old))*float64(len(replacement)-len(old))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

// maxPattern is the maximum length of a regular expression, in bytes.
const maxPattern = 4096

// checkPattern limits what a regular expression takes to be matched: each of its instructions may keep the places of
// all its groups.
func checkPattern(pattern string) error {
	switch {
	case len(pattern) > maxPattern:
		return fmt.Errorf("the regular expression has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	case len(pattern) <= maxPattern/16 && !strings.Contains(pattern, "{"):
		return nil // without repetitions, it cannot have that many instructions
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the regular expression is not valid: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fmt.Errorf("the regular expression is not valid: %w", err)
	}
	if len(program.Inst)*(program.NumCap+1) > maxItems {
		return errors.New("the regular expression has too many repetitions and groups")
	}
	return nil
}

// regexReplace takes a replacement that may refer to parts of a match by "$", each of which is at most the whole match.
func regexReplace(replace func(pattern *regexp.Regexp, text, replacement string) string) any {
	return func(pattern, text, replacement string) (string, error) {
		if err := checkPattern(pattern); err != nil {
			return "", err
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		parts := float64(len(text)) * float64(1+strings.Count(replacement, "$"))
		// There is at most one match more than bytes. The matches are counted if that is not enough.
		if parts+float64(len(text)+1)*float64(len(replacement)) > MaxOutput {
			enough := MaxOutput/max(len(replacement), 1) + 1
			matches := len(compiled.FindAllStringIndex(text, enough))
			if err := checkLength("replacing", parts+float64(matches)*float64(len(replacement))); err != nil {
				return "", err
			}
		}
		return replace(compiled, text, replacement), nil
	}
}

// verb is a verb of printf, with its width and precision.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?(\d*|\*)(?:\.(?:\[\d+\])?(\d*|\*))?(?:\[\d+\])?[a-zA-Z%]`)

// printf limits how many blanks the widths and precisions of a format yield.
func printf(format string, arguments ...any) (string, error) {
	widest := 0
	for _, argument := range arguments {
		if number := reflect.ValueOf(argument); number.CanInt() {
			widest = max(widest, int(min(number.Int(), math.MaxInt32)))
		}
	}
	total := 0.0
	for _, match := range verb.FindAllStringSubmatch(format, maxItems) {
		for _, text := range match[1:] {
			switch width, err := strconv.Atoi(text); {
			case text == "*":
				total += float64(widest)
			case err == nil:
				total += float64(width)
			}
		}
	}
	if err := checkLength("formatting", total); err != nil {
		return "", err
	}
	return fmt.Sprintf(format, arguments...), nil
}

// joinOf returns join, which takes lists of anything.
func joinOf(sprig map[string]any) any {
	toStrings, _ := sprig["toStrings"].(func(any) []string)
	return func(separator string, list any) (string, error) {
		texts := toStrings(list)
		length := float64(len(texts)) * float64(len(separator))
		for _, text := range texts {
			length += float64(len(text))
		}
		if err := checkLength("joining", length); err != nil {
			return "", err
		}
		return strings.Join(texts, separator), nil
	}
}

func checkLength(doing string, length float64) error {
	if length > MaxOutput {
		return fmt.Errorf("%s yields %.0f bytes; at most %d are allowed", doing, length, MaxOutput)
	}
	return nil
}

func checkItems(count float64) error {
	if count > maxItems {
		return fmt.Errorf("%.0f is too many; at most %d are allowed", count, maxItems)
	}
	return nil
}

// checkSteps also excludes numbers so large that the last step would overflow.
func checkSteps(start, stop, step int) error {
	for _, number := range []int{start, stop, step} {
		if number > math.MaxInt/4 || number < -math.MaxInt/4 {
			return fmt.Errorf("%d is too large", number)
		}
	}
	if step == 0 {
		return nil
	}
	return checkItems((float64(stop) - float64(start)) / float64(step))
}

// checkSequence takes the arguments of seq: up to three numbers, the last of which is the end.
func checkSequence(bounds []int) error {
	switch len(bounds) {
	case 1:
		return errors.Join(checkSteps(1, bounds[0], 1), checkSteps(1, bounds[0], -1))
	case 2:
		return errors.Join(checkSteps(bounds[0], bounds[1], 1), checkSteps(bounds[0], bounds[1], -1))
	case 3:
		return checkSteps(bounds[0], bounds[2], bounds[1])
	default:
		return nil
	}
}

// indent puts blanks in front of each line.
func indent(blanks int, text string) (string, error) {
	if blanks < 0 {
		return "", fmt.Errorf("indenting by %d blanks: the number must not be negative", blanks)
	}
	if lines := strings.Count(text, "\n") + 1; blanks > MaxOutput/lines {
		return "", fmt.Errorf("indenting %d lines by %d blanks: at most %d bytes are allowed", lines, blanks, MaxOutput)
	}
	margin := strings.Repeat(" ", blanks)
	return margin + strings.ReplaceAll(text, "\n", "\n"+margin), nil
}

// maxDepth is how deep values that are written as YAML, TOML or indented JSON may be nested.
const maxDepth = 200

// CheckEncoding returns an error if writing a value with indentation takes too much memory: each line begins with
// blanks for its depth.
func CheckEncoding(value any) error {
	size, count := 0.0, 0
	return checkEncoding(reflect.ValueOf(value), 0, &size, &count)
}

func checkEncoding(value reflect.Value, depth int, size *float64, count *int) error {
	*count++
	switch {
	case depth > maxDepth:
		return fmt.Errorf("writing a value: it is nested more than %d levels deep", maxDepth)
	case *count > maxItems/4:
		return fmt.Errorf("writing a value: it has more than %d parts", maxItems/4)
	}
	for value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	*size += float64(2*depth + 1)
	switch value.Kind() {
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			*size += float64(len(entries.Key().String()))
			if err := checkEncoding(entries.Value(), depth+1, size, count); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return checkLength("writing a value", *size+float64(value.Len()))
		}
		for i := range value.Len() {
			if err := checkEncoding(value.Index(i), depth+1, size, count); err != nil {
				return err
			}
		}
	case reflect.String:
		*size += float64(value.Len()) + float64(strings.Count(value.String(), "\n"))*float64(2*depth)
	default:
	}
	return checkLength("writing a value", *size)
}
