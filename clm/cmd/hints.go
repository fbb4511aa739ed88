// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreignFlags are flags that similar tools have, and what there is here instead.
var foreignFlags = map[string]string{
	"install":      "clm apply creates a release that does not exist",
	"wait":         "clm waits unless --no-wait is given",
	"atomic":       "clm apply has --revert-on-failure",
	"reuse-values": "values are not taken over from the last revision; to give them again: clm get values NAME > FILE, and -f FILE",
	"repo":         "a chart in a repository is the source https://HOST/PATH#CHART",
	"force":        "clm apply has --update-policy recreate, and --adopt always for objects of other owners",
}

// suggestFlag adds to the error about an unknown flag what may have been meant.
func suggestFlag(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && foreignFlags[unknown.GetSpecifiedName()] != "" {
		return fmt.Errorf("%w; %s", err, foreignFlags[unknown.GetSpecifiedName()])
	}
	return err
}
