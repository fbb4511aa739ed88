// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	quantities "k8s.io/apimachinery/pkg/api/resource"
)

// period is the value of a flag for a length of time.
type period struct{ value *time.Duration }

func (p period) String() string {
	if p.value == nil {
		return ""
	}
	return p.value.String()
}

func (p period) Type() string { return "duration" }

func (p period) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a valid duration, such as 90s, 5m, 1h30m or 0", text)
	}
	*p.value = parsed
	return nil
}

// description is the value of a flag that says what brings a revision about.
type description struct{ value *string }

// maxDescription is how long a description may be, in bytes: each one is kept in the index of a release.
const maxDescription = 256

func addDescriptionFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(description{value}, "description", "`text` that clm history shows with the new revision (default what clm has done)")
}

func (d description) String() string {
	if d.value == nil {
		return ""
	}
	return *d.value
}

func (d description) Type() string { return "string" }

func (d description) Set(text string) error {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return errors.New("it is empty")
	case len(trimmed) > maxDescription:
		return fmt.Errorf("it has %d bytes; must be at most %d", len(trimmed), maxDescription)
	case strings.ContainsAny(trimmed, "\r\n\t"):
		return errors.New("it has several lines, or tabs; must be one line")
	default:
		*d.value = trimmed
		return nil
	}
}

// number is the value of a flag for whole numbers from a minimum on.
type number[T int | int64] struct {
	value   *T
	minimum T
}

func (n number[T]) String() string {
	if n.value == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n.value), 10)
}

func (n number[T]) Type() string { return "number" }

func (n number[T]) Set(text string) error {
	parsed, err := strconv.ParseInt(text, 10, 32)
	if err != nil || parsed < int64(n.minimum) {
		return fmt.Errorf("%q is not a whole number greater than or equal to %d", text, n.minimum)
	}
	*n.value = T(parsed)
	return nil
}

// byteCount is the value of a flag for a number of bytes, with or without a unit.
type byteCount struct{ value *int64 }

func (b byteCount) String() string {
	if b.value == nil {
		return ""
	}
	return quantities.NewQuantity(*b.value, quantities.BinarySI).String()
}

func (b byteCount) Type() string { return "quantity" }

func (b byteCount) Set(text string) error {
	parsed, err := quantities.ParseQuantity(text)
	count, whole := parsed.AsInt64()
	if err != nil || !whole || count < 0 {
		return fmt.Errorf("%q is not a number of bytes, such as 500Ki, 10Mi, 10M or 0", text)
	}
	*b.value = count
	return nil
}

// filePath is the value of a flag for a file. An empty one is most likely a variable of a script that is not set.
type filePath struct{ value *string }

func (f filePath) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}

func (f filePath) Type() string { return "file" }

func (f filePath) Set(text string) error {
	if text == "" {
		return errors.New("a file name is missing")
	}
	*f.value = text
	return nil
}

// filePaths is the value of a flag for files that is given several times.
type filePaths struct{ pflag.Value }

func (f filePaths) Set(text string) error {
	if text == "" {
		return filePath{}.Set(text)
	}
	return f.Value.Set(text)
}

// explain makes errors about the arguments of a command, and of those below it, say what the command expects.
func explain(command *cobra.Command) {
	switch check := command.Args; {
	case !command.HasParent():
		// cobra looks for unknown commands before it looks at flags, unless there is a check of its own.
	case command.HasSubCommands():
		command.Args = refuseUnknown
	case check != nil:
		command.Args = checked(check)
	}
	if !command.Runnable() {
		// Otherwise any argument would be fine with a command that just has others below it.
		command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	}
	for _, child := range command.Commands() {
		explain(child)
	}
}
