// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes beside 0 and 1.
const (
	exitChanges  = 2
	exitNotReady = 3
	exitRefused  = 4
	// exitInterrupted is what shells say of a command that SIGINT has ended.
	exitInterrupted = 130
)

// ExitCode is a code by which commands end.
type ExitCode struct {
	Code    int
	Meaning string
}

// AllExitCodes are those by which commands of clm end.
func AllExitCodes() []ExitCode {
	return []ExitCode{
		{0, "success"},
		{1, "an error"},
		{exitChanges, "there are changes (with --exit-code), or clm doctor found a problem"},
		{exitNotReady, "not all objects became ready (or, in a deletion, were deleted): some have failed, or the timeout was reached"},
		{exitRefused, "refused, because a user has to decide: not confirmed, blocked, stale plan, locked, too many deletions, or objects of another owner"},
		{exitInterrupted, "interrupted, or (an apply or a rollback) canceled by a newer one with --cancel-older"},
	}
}

// exitsKey is the annotation of commands that holds their exit codes beside 0 and 1.
const exitsKey = "exit-codes"

// exits are the annotations of a command that may end with these codes beside 0 and 1.
func exits(codes ...int) map[string]string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = strconv.Itoa(code)
	}
	return map[string]string{exitsKey: strings.Join(texts, ",")}
}

// ExitCodes are those by which a command may end.
func ExitCodes(command *cobra.Command) []ExitCode {
	further := strings.Split(command.Annotations[exitsKey], ",")
	return slices.DeleteFunc(AllExitCodes(), func(code ExitCode) bool {
		return code.Code > 1 && !slices.Contains(further, strconv.Itoa(code.Code))
	})
}
