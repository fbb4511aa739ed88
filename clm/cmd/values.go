// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	quantities "k8s.io/apimachinery/pkg/api/resource"
)

// flagValue is the value of a flag that a function checks.
type flagValue struct {
	// kind is what help texts call the value.
	kind string
	text func() string
	set  func(text string) error
}

// String returns the text of the value; pflag also calls it for the zero value.
func (v flagValue) String() string {
	if v.text == nil {
		return ""
	}
	return v.text()
}

// Type implements pflag.Value.
func (v flagValue) Type() string { return v.kind }

// Set implements pflag.Value.
func (v flagValue) Set(text string) error { return v.set(text) }

// textOf returns a function that returns a text.
func textOf(value *string) func() string { return func() string { return *value } }

// period is the value of a flag for a length of time.
func period(value *time.Duration) pflag.Value {
	return flagValue{kind: "duration", text: func() string { return value.String() }, set: func(text string) error {
		parsed, err := time.ParseDuration(text)
		if err != nil || parsed < 0 {
			return fmt.Errorf("%q is not a valid duration, such as 90s, 5m, 1h30m or 0", text)
		}
		*value = parsed
		return nil
	}}
}

// maxDescription is how long a description may be, in bytes: each one is kept in the index of a release.
const maxDescription = 256

// addDescriptionFlag adds a flag that says what brings a revision about.
func addDescriptionFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(flagValue{kind: "string", text: textOf(value), set: func(text string) error {
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "":
			return errors.New("it is empty")
		case len(trimmed) > maxDescription:
			return fmt.Errorf("it has %d bytes; must be at most %d", len(trimmed), maxDescription)
		case strings.ContainsAny(trimmed, "\r\n\t"):
			return errors.New("it has several lines, or tabs; must be one line")
		default:
			*value = trimmed
			return nil
		}
	}}, "description", "`text` that clm history shows with the new revision (default what clm has done)")
}

// number is the value of a flag for whole numbers from a minimum on.
func number[T int | int64](value *T, minimum T) pflag.Value {
	return flagValue{kind: "number", text: func() string { return strconv.FormatInt(int64(*value), 10) }, set: func(text string) error {
		parsed, err := strconv.ParseInt(text, 10, 32)
		if err != nil || parsed < int64(minimum) {
			return fmt.Errorf("%q is not a whole number greater than or equal to %d", text, minimum)
		}
		*value = T(parsed)
		return nil
	}}
}

// byteCount is the value of a flag for a number of bytes, with or without a unit.
func byteCount(value *int64) pflag.Value {
	return flagValue{kind: "quantity", text: func() string { return quantities.NewQuantity(*value, quantities.BinarySI).String() }, set: func(text string) error {
		parsed, err := quantities.ParseQuantity(text)
		count, whole := parsed.AsInt64()
		if err != nil || !whole || count < 0 {
			return fmt.Errorf("%q is not a number of bytes, such as 500Ki, 10Mi, 10M or 0", text)
		}
		*value = count
		return nil
	}}
}

// errNoFile refuses an empty file name, which is most likely a variable of a script that is not set.
var errNoFile = errors.New("a file name is missing")

// filePath is the value of a flag for a file.
func filePath(value *string) pflag.Value {
	return flagValue{kind: "file", text: textOf(value), set: func(text string) error {
		if text == "" {
			return errNoFile
		}
		*value = text
		return nil
	}}
}

// filePaths is the value of a flag for files that is given several times.
type filePaths struct{ pflag.Value }

// Set implements pflag.Value.
func (f filePaths) Set(text string) error {
	if text == "" {
		return errNoFile
	}
	return f.Value.Set(text)
}
