// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cast"
)

// limitedFunctions returns replacements for those functions of sprig whose arguments decide how much they generate.
// Untrusted values are often among these arguments.
func limitedFunctions(sprig map[string]any) map[string]any {
	limited := limitedTexts(sprig)
	maps.Copy(limited, limitedLists(sprig))
	return limited
}

// limitedTexts returns the functions whose results grow with texts.
func limitedTexts(sprig map[string]any) map[string]any {
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
	}
	for _, name := range []string{"regexReplaceAll", "mustRegexReplaceAll"} {
		limited[name] = regexReplace((*regexp.Regexp).ReplaceAllString)
	}
	for _, name := range []string{"regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"} {
		limited[name] = regexReplace((*regexp.Regexp).ReplaceAllLiteralString)
	}
	if wrapWith, ok := sprig["wrapWith"].(func(int, string, string) string); ok {
		limited["wrapWith"] = func(width int, separator, text string) (string, error) {
			if err := checkLength("wrapping", float64(len(text))*float64(1+len(separator))); err != nil {
				return "", err
			}
			return wrapWith(width, separator, text), nil
		}
	}
	return limited
}

// limitedLists returns the functions to which a number says how much they generate.
func limitedLists(sprig map[string]any) map[string]any {
	limited := map[string]any{}
	if until, ok := sprig["until"].(func(int) []int); ok {
		limited["until"] = func(count int) ([]int, error) {
			if err := checkItems(math.Abs(float64(count))); err != nil {
				return nil, err
			}
			return until(count), nil
		}
	}
	if untilStep, ok := sprig["untilStep"].(func(int, int, int) []int); ok {
		limited["untilStep"] = func(start, stop, step int) ([]int, error) {
			if err := checkSteps(start, stop, step); err != nil {
				return nil, err
			}
			return untilStep(start, stop, step), nil
		}
	}
	if seq, ok := sprig["seq"].(func(...int) string); ok {
		limited["seq"] = func(bounds ...int) (string, error) {
			if err := checkSequence(bounds); err != nil {
				return "", err
			}
			return seq(bounds...), nil
		}
	}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric"} {
		if generate, ok := sprig[name].(func(int) string); ok {
			limited[name] = func(count int) (string, error) {
				if err := checkItems(float64(count)); err != nil {
					return "", err
				}
				return generate(count), nil
			}
		}
	}
	if generate, ok := sprig["randBytes"].(func(int) (string, error)); ok {
		limited["randBytes"] = func(count int) (string, error) {
			if err := checkItems(float64(count)); err != nil {
				return "", err
			}
			return generate(count)
		}
	}
	return limited
}

func replace(old, replacement, text string) (string, error) {
	if err := checkLength("replacing", float64(len(text))+float64(strings.Count(text, old))*float64(len(replacement)-len(old))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

// regexReplace takes a replacement that may refer to parts of a match by "$", each of which is at most the whole match.
func regexReplace(replace func(pattern *regexp.Regexp, text, replacement string) string) any {
	return func(pattern, text, replacement string) (string, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		length := func(matches int) float64 {
			return float64(len(text))*float64(1+strings.Count(replacement, "$")) + float64(matches)*float64(len(replacement))
		}
		// There is at most one match more than bytes. The matches are counted if that is not enough.
		if length(len(text)+1) > MaxOutput {
			if err := checkLength("replacing", length(len(compiled.FindAllStringIndex(text, -1)))); err != nil {
				return "", err
			}
		}
		return replace(compiled, text, replacement), nil
	}
}

// joinOf returns join, which takes lists of anything.
func joinOf(sprig map[string]any) any {
	toStrings, ok := sprig["toStrings"].(func(any) []string)
	if !ok {
		return sprig["join"]
	}
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

func parseOctet(text string) (uint32, error) {
	number, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number between 0 and 255", text)
	}
	return cast.ToUint32(number), nil
}
