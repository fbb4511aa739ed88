// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/internal/texts"
)

// suggestFlag adds to the error about an unknown flag the name of one that may have been meant.
func suggestFlag(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	if nearest := texts.Nearest(unknown.GetSpecifiedName(), known); nearest != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, nearest)
	}
	return err
}

// refuseUnknown is the check of the arguments of commands that just have others below them.
func refuseUnknown(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], command.CommandPath())
	const distance = 2 // as cobra does it for the root
	command.SuggestionsMinimumDistance = distance
	if meant := command.SuggestionsFor(args[0]); len(meant) > 0 {
		return fmt.Errorf("%w; did you mean %s?", err, strings.Join(meant, " or "))
	}
	return err
}

// checked makes errors about the number of arguments of a command say which ones are missing, or too many.
func checked(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := checkDryRun(command, args); err != nil {
			return err
		}
		err := check(command, args)
		isOwn := err != nil && strings.Contains(err.Error(), command.CommandPath()) && !strings.HasPrefix(err.Error(), "unknown command")
		if err == nil || isOwn {
			return err
		}
		wanted, atMost := placeholders(command.Use)
		switch {
		case len(args) < len(wanted):
			missing := wanted[len(args):]
			verb := "is"
			if len(missing) > 1 {
				verb = "are"
			}
			err = fmt.Errorf("%s %s missing", strings.Join(missing, " and "), verb)
		case atMost >= 0 && len(args) > atMost:
			err = fmt.Errorf("unexpected argument %q", args[atMost])
		}
		return fmt.Errorf("%w; usage: %s", err, command.UseLine())
	}
}

// placeholders returns the required arguments in the usage of a command, and the maximum number of all arguments; -1
// means no limit.
func placeholders(use string) (required []string, atMost int) {
	words := strings.Fields(use)[1:]
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			// The arguments of a flag, and what follows, are in no fixed place.
			return required, -1
		}
		if !strings.HasPrefix(word, "[") {
			required = append(required, strings.TrimSuffix(word, "..."))
		}
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "...") }) {
		return required, -1
	}
	return required, len(words)
}

// requireArguments makes errors about the arguments of a command, and of those below it, say what the command expects.
func requireArguments(command *cobra.Command) {
	switch check := command.Args; {
	case !command.HasParent():
		// The root has cobra's check, which comes before flags.
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
		requireArguments(child)
	}
}
