// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
)

// explain shows people why dependents are not ready that an operation has waited for in vain.
func (e *environment) explain(ctx context.Context, s *runner.Connection, release *releases.Release, failure error) {
	report, err := views.Unready(ctx, s, release, failure)
	if err != nil {
		fmt.Fprintln(e.err, "the reasons cannot be determined:", display.CleanLines(err.Error()))
		return
	}
	if report == nil {
		return
	}
	options := display.WriteOptions{Color: bool(e.style(e.err)), Width: display.Limit(e.err), Namespace: release.Namespace, Why: true, Flat: true}
	_ = display.Write(e.err, report.Nodes, options)
	for _, note := range report.Notes {
		fmt.Fprintln(e.err, display.Clean(fmt.Sprint(note)))
	}
}
