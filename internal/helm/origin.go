// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type (
	originsKey struct{}
	notesKey   struct{}
)

// WithOrigins makes ReportOrigin call the function for each object of a chart.
func WithOrigins(ctx context.Context, report func(object client.Object, file string)) context.Context {
	return context.WithValue(ctx, originsKey{}, report)
}

// WithNotes makes Chart.Render render the notes of a chart, too, and call the function with them, if there are any.
func WithNotes(ctx context.Context, report func(notes string)) context.Context {
	return context.WithValue(ctx, notesKey{}, report)
}

func wantsNotes(ctx context.Context) bool { return ctx.Value(notesKey{}) != nil }

// reportNotes reports the notes of a chart to the function of WithNotes, if the context has one.
func reportNotes(ctx context.Context, notes string) {
	if report, ok := ctx.Value(notesKey{}).(func(string)); ok && strings.TrimSpace(notes) != "" {
		report(notes)
	}
}

// ReportOrigin reports the file of an object to the function of WithOrigins, if the context has one.
func ReportOrigin(ctx context.Context, object client.Object, file string) {
	if report, ok := ctx.Value(originsKey{}).(func(client.Object, string)); ok {
		report(object, file)
	}
}
